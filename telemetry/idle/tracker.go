package idle

import (
	"slices"
	"time"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/telemetry/sample"
)

// DefaultWindow is how long agreement must last until a held device counts as idle.
// It is long on purpose: most idle gaps of real training lie in mid-job.
const DefaultWindow = 30 * time.Minute

// Reading is one pass of readings of a device or partition.
type Reading struct {
	ObservedAt time.Time
	// Budget is how long the reading may be believed.
	Budget time.Duration
	Fields *sample.Fields
	// MIG tells that the readings are those of a MIG instance, or of a device with
	// instances.
	MIG         bool
	Attribution sample.Attribution
	Holders     []sample.Holder
}

// Tracker follows one device or partition. It is not safe for concurrent use; its
// owner serialises.
type Tracker struct {
	window time.Duration

	last  Reading
	votes Votes
	// quietSince is when unbroken agreement began, zero without.
	quietSince time.Time

	activity v1alpha1.Activity
	since    time.Time
}

// NewTracker returns a tracker that knows nothing.
func NewTracker(window time.Duration) *Tracker {
	return &Tracker{window: window, activity: v1alpha1.ActivityUnknown}
}

// Observe takes one pass of readings. Passes must come in order of time; an older one
// is ignored. Agreement begins anew after a gap, and for another holder.
func (t *Tracker) Observe(reading Reading) {
	if !reading.ObservedAt.After(t.last.ObservedAt) {
		return
	}
	gap := reading.ObservedAt.Sub(t.last.ObservedAt) > t.last.Budget
	t.votes = Vote(reading.Fields, reading.MIG)
	if !t.votes.Quiet || gap || !sameUse(&reading, &t.last) {
		t.quietSince = time.Time{}
	}
	if t.votes.Quiet && t.quietSince.IsZero() {
		t.quietSince = reading.ObservedAt
	}
	t.last = reading
	t.last.Fields = nil // They are the caller's, and large.
}

func sameUse(a, b *Reading) bool {
	return a.MIG == b.MIG && a.Attribution == b.Attribution && slices.Equal(a.Holders, b.Holders)
}

// Activity tells what the device is doing as of now, and since when it does.
func (t *Tracker) Activity(now time.Time) (v1alpha1.Activity, time.Time) {
	current := t.classify(now)
	if current != t.activity || t.since.IsZero() {
		t.activity, t.since = current, now
	}
	if current == v1alpha1.ActivityHeldIdle || current == v1alpha1.ActivityHeldNoProcess {
		t.since = t.quietSince
	}
	return t.activity, t.since
}

func (t *Tracker) classify(now time.Time) v1alpha1.Activity {
	switch {
	case t.last.ObservedAt.IsZero() || now.Sub(t.last.ObservedAt) > t.last.Budget:
		return v1alpha1.ActivityUnknown
	case t.votes.Busy && !t.votes.Efficient:
		return v1alpha1.ActivityLowEfficiency
	case t.votes.Busy:
		return v1alpha1.ActivityBusy
	case !t.votes.Quiet:
		return v1alpha1.ActivityUnknown
	case t.last.Attribution == sample.AttributionNone:
		return v1alpha1.ActivityUnallocated
	case t.last.Attribution != sample.AttributionHeld || t.last.ObservedAt.Sub(t.quietSince) < t.window:
		return v1alpha1.ActivityUnknown
	case t.votes.NoProcess:
		return v1alpha1.ActivityHeldNoProcess
	default:
		return v1alpha1.ActivityHeldIdle
	}
}
