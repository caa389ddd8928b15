package idle

import (
	"time"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/telemetry/sample"
)

// DefaultWindow is how long agreement must last until a held device counts as idle.
// It is long on purpose: most idle gaps of real training lie in mid-job.
const DefaultWindow = 30 * time.Minute

// Tracker follows one device or partition. It is not safe for concurrent use; its
// owner serialises.
type Tracker struct {
	window time.Duration

	observedAt time.Time
	budget     time.Duration
	votes      Votes
	holding    sample.Attribution
	// quietSince is when unbroken agreement began, zero without.
	quietSince time.Time

	activity v1alpha1.Activity
	since    time.Time
}

// NewTracker returns a tracker that knows nothing.
func NewTracker(window time.Duration) *Tracker {
	return &Tracker{window: window, activity: v1alpha1.ActivityUnknown}
}

// Observe takes one pass of readings, made at observedAt and good for budget. Passes
// must come in order of time; an older one is ignored.
func (t *Tracker) Observe(observedAt time.Time, budget time.Duration, fields *sample.Fields, mig bool, holding sample.Attribution) {
	if !observedAt.After(t.observedAt) {
		return
	}
	gap := !t.observedAt.IsZero() && observedAt.Sub(t.observedAt) > budget
	t.votes = Vote(fields, mig)
	if !t.votes.Quiet || gap || holding != t.holding {
		t.quietSince = time.Time{}
	}
	if t.votes.Quiet && t.quietSince.IsZero() {
		t.quietSince = observedAt
	}
	t.observedAt, t.budget, t.holding = observedAt, budget, holding
}

// Activity tells what the device is doing as of now, and since when it does.
func (t *Tracker) Activity(now time.Time) (v1alpha1.Activity, time.Time) {
	current := t.classify(now)
	if current != t.activity || t.since.IsZero() {
		t.activity, t.since = current, now
		if current == v1alpha1.ActivityHeldIdle || current == v1alpha1.ActivityHeldNoProcess {
			t.since = t.quietSince
		}
	}
	return t.activity, t.since
}

func (t *Tracker) classify(now time.Time) v1alpha1.Activity {
	switch {
	case t.observedAt.IsZero() || now.Sub(t.observedAt) > t.budget:
		return v1alpha1.ActivityUnknown
	case t.votes.Busy && !t.votes.Efficient:
		return v1alpha1.ActivityLowEfficiency
	case t.votes.Busy:
		return v1alpha1.ActivityBusy
	case !t.votes.Quiet:
		return v1alpha1.ActivityUnknown
	case t.holding == sample.AttributionNone:
		return v1alpha1.ActivityUnallocated
	case t.holding != sample.AttributionHeld || t.observedAt.Sub(t.quietSince) < t.window:
		return v1alpha1.ActivityUnknown
	case t.votes.NoProcess:
		return v1alpha1.ActivityHeldNoProcess
	default:
		return v1alpha1.ActivityHeldIdle
	}
}
