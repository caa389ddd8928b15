package idle

import (
	"math/rand/v2"
	"testing"
	"time"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/telemetry/sample"
)

const (
	window = 30 * time.Minute
	budget = 30 * time.Second
	pace   = 10 * time.Second
)

var midnight = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

var (
	quiet     = readings{sample.EngineActive: 0, sample.GPUUtil: 0, sample.DRAMActive: 0, sample.FBUsed: 512 * mib}
	empty     = readings{sample.EngineActive: 0, sample.GPUUtil: 0, sample.DRAMActive: 0, sample.FBUsed: 2 * mib}
	busy      = readings{sample.EngineActive: 0.8, sample.GPUUtil: 1, sample.DRAMActive: 0.3, sample.FBUsed: 8000 * mib}
	wasteful  = readings{sample.EngineActive: 0.8, sample.GPUUtil: 1, sample.SMActive: 0.001, sample.DRAMActive: 0.001, sample.FBUsed: 512 * mib}
	oneWay    = readings{sample.EngineActive: 0, sample.DRAMActive: 0, sample.FBUsed: 512 * mib}
	trainer   = []sample.Holder{{Namespace: "ml", Pod: "train-0", Container: "main"}}
	evaluator = []sample.Holder{{Namespace: "ml", Pod: "eval-0", Container: "main"}}
)

// phase is a stretch of passes that all read the same.
type phase struct {
	lasts       time.Duration
	read        readings
	mig         bool
	attribution sample.Attribution
	holders     []sample.Holder
	silent      bool
}

func held(lasts time.Duration, read readings) phase {
	return phase{lasts: lasts, read: read, attribution: sample.AttributionHeld, holders: trainer}
}

func run(tracker *Tracker, phases []phase) time.Time {
	now := midnight
	for _, p := range phases {
		for end := now.Add(p.lasts); now.Before(end); {
			now = now.Add(pace)
			if !p.silent {
				tracker.Observe(Reading{
					ObservedAt: now, Budget: budget, Fields: row(p.read), MIG: p.mig, Attribution: p.attribution, Holders: p.holders,
				})
			}
			tracker.Activity(now)
		}
	}
	return now
}

func TestActivity(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		phases []phase
		want   v1alpha1.Activity
		// since is measured from the start.
		since time.Duration
	}{
		"never read": {
			phases: []phase{{lasts: time.Minute, silent: true}},
			want:   v1alpha1.ActivityUnknown, since: pace,
		},
		"held and quiet for less than the window": {
			phases: []phase{held(window, quiet)},
			want:   v1alpha1.ActivityUnknown, since: pace,
		},
		"held and quiet for the window": {
			phases: []phase{held(window+pace, quiet)},
			want:   v1alpha1.ActivityHeldIdle, since: pace,
		},
		"held with no process": {
			phases: []phase{held(window+pace, empty)},
			want:   v1alpha1.ActivityHeldNoProcess, since: pace,
		},
		"the process ended in mid-window": {
			phases: []phase{held(window/2, quiet), held(window/2+pace, empty)},
			want:   v1alpha1.ActivityHeldNoProcess, since: pace,
		},
		"busy at once, after hours of idleness": {
			phases: []phase{held(3*window, quiet), held(pace, busy)},
			want:   v1alpha1.ActivityBusy, since: 3*window + pace,
		},
		"one busy pass begins the window anew": {
			phases: []phase{held(window, quiet), held(pace, busy), held(window, quiet)},
			want:   v1alpha1.ActivityUnknown, since: window + 2*pace,
		},
		"busy engines that do nothing": {
			phases: []phase{held(time.Minute, wasteful)},
			want:   v1alpha1.ActivityLowEfficiency, since: pace,
		},
		"one module alone is never idle": {
			phases: []phase{held(5*window, oneWay)},
			want:   v1alpha1.ActivityUnknown, since: pace,
		},
		"the second witness was lost in mid-window": {
			phases: []phase{held(window, quiet), held(pace, oneWay), held(window, quiet)},
			want:   v1alpha1.ActivityUnknown, since: pace,
		},
		"a gap begins the window anew": {
			phases: []phase{held(window, quiet), {lasts: time.Minute, silent: true}, held(window, quiet)},
			want:   v1alpha1.ActivityUnknown, since: pace,
		},
		"a short gap does not": {
			phases: []phase{held(window/2, quiet), {lasts: 2 * pace, silent: true}, held(window/2, quiet)},
			want:   v1alpha1.ActivityHeldIdle, since: pace,
		},
		"silence is Unknown": {
			phases: []phase{held(2*window, quiet), {lasts: time.Minute, silent: true}},
			want:   v1alpha1.ActivityUnknown, since: 2*window + 4*pace,
		},
		"held by nobody": {
			phases: []phase{{lasts: time.Minute, read: empty, attribution: sample.AttributionNone}},
			want:   v1alpha1.ActivityUnallocated, since: pace,
		},
		"held by nobody and busy": {
			phases: []phase{{lasts: time.Minute, read: busy, attribution: sample.AttributionNone}},
			want:   v1alpha1.ActivityBusy, since: pace,
		},
		"empty labels are no proof that nobody holds it": {
			phases: []phase{{lasts: 2 * window, read: empty, attribution: sample.AttributionEmpty}},
			want:   v1alpha1.ActivityUnknown, since: pace,
		},
		"nobody can tell who holds it": {
			phases: []phase{{lasts: 2 * window, read: quiet, attribution: sample.AttributionUnknown}},
			want:   v1alpha1.ActivityUnknown, since: pace,
		},
		"another pod is not blamed for the one before": {
			phases: []phase{held(2*window, quiet), {lasts: window, read: quiet, attribution: sample.AttributionHeld, holders: evaluator}},
			want:   v1alpha1.ActivityUnknown, since: 2*window + pace,
		},
		"nor for the time before it came": {
			phases: []phase{{lasts: 2 * window, read: quiet, attribution: sample.AttributionNone}, held(window, quiet)},
			want:   v1alpha1.ActivityUnknown, since: 2*window + pace,
		},
		"nor does it matter that it has no name": {
			phases: []phase{{lasts: 2 * window, read: quiet, attribution: sample.AttributionNone}, {lasts: window, read: quiet, attribution: sample.AttributionHeld}},
			want:   v1alpha1.ActivityUnknown, since: 2*window + pace,
		},
		"an idle MIG instance": {
			phases: []phase{{lasts: window + pace, read: empty, mig: true, attribution: sample.AttributionHeld, holders: trainer}},
			want:   v1alpha1.ActivityHeldNoProcess, since: pace,
		},
		"a MIG instance that holds memory has one witness": {
			phases: []phase{{lasts: 2 * window, read: quiet, mig: true, attribution: sample.AttributionHeld, holders: trainer}},
			want:   v1alpha1.ActivityUnknown, since: pace,
		},
		"another layout begins the window anew": {
			phases: []phase{
				held(window, empty),
				{lasts: window, read: empty, mig: true, attribution: sample.AttributionHeld, holders: trainer},
			},
			want: v1alpha1.ActivityUnknown, since: pace,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tracker := NewTracker(window)
			now := run(tracker, test.phases)
			got, since := tracker.Activity(now)
			if got != test.want || since.Sub(midnight) != test.since {
				t.Errorf("got %s since %s, want %s since %s", got, since.Sub(midnight), test.want, test.since)
			}
		})
	}
}

func TestReadingsThatComeTooLateAreNoNews(t *testing.T) {
	t.Parallel()
	tracker := NewTracker(window)
	now := run(tracker, []phase{held(time.Minute, busy)})
	tracker.Observe(Reading{ObservedAt: now, Budget: budget, Fields: row(quiet), Attribution: sample.AttributionHeld})
	tracker.Observe(Reading{ObservedAt: now.Add(-time.Second), Budget: budget, Fields: row(quiet), Attribution: sample.AttributionHeld})
	if got, _ := tracker.Activity(now); got != v1alpha1.ActivityBusy {
		t.Errorf("got %s", got)
	}
}

// TestBusyIsNeverIdle plays random days: while a busy vote is younger than the window
// no device is called idle.
func TestBusyIsNeverIdle(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	const short = 2 * time.Minute
	idled := 0
	for day := range 300 {
		tracker := NewTracker(short)
		now, lastBusy := midnight, midnight
		for range 200 {
			now = now.Add(time.Duration(random.IntN(15)) * time.Second)
			fields, mig := randomRow(random), day%2 == 0
			if random.IntN(12) > 0 {
				fields = *row(empty)
			}
			reading := Reading{ObservedAt: now, Budget: budget, Fields: &fields, MIG: mig, Attribution: sample.AttributionHeld, Holders: trainer}
			if random.IntN(4) > 0 {
				if Vote(&fields, mig).Busy && now.After(tracker.last.ObservedAt) {
					lastBusy = now
				}
				tracker.Observe(reading)
			}
			activity, since := tracker.Activity(now)
			idle := activity == v1alpha1.ActivityHeldIdle || activity == v1alpha1.ActivityHeldNoProcess
			if idle {
				idled++
			}
			if idle && (now.Sub(lastBusy) < short || since.Before(lastBusy)) {
				t.Fatalf("day %d: %s since %s at %s, busy at %s", day, activity, since, now, lastBusy)
			}
		}
	}
	if idled == 0 {
		t.Error("no day had an idle moment, so nothing was proved")
	}
}
