package health

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/telemetry/sample"
)

const budget = 30 * time.Second

// reading makes a row of fields.
func reading(values map[sample.Field]float64) *sample.Fields {
	var fields sample.Fields
	for field, value := range values {
		fields[field] = sample.Known(value)
	}
	return &fields
}

func TestSeededFindingsAreJudgedByTodaysPolicy(t *testing.T) {
	t.Parallel()
	failed := v1alpha1.GradeFailed
	for name, test := range map[string]struct {
		policy string
		seed   Finding
		read   *sample.Fields
		want   v1alpha1.Grade
		wantDo v1alpha1.Action
		passes int
	}{
		"it stands although nothing was read": {
			seed: Finding{Code: "XID79", Grade: failed, Action: v1alpha1.ActionRebootNode},
			want: failed, wantDo: v1alpha1.ActionRebootNode,
		},
		"its action is that of its code": {
			seed: Finding{Code: "XID95", Grade: failed, Action: v1alpha1.ActionReplaceDevice},
			want: failed, wantDo: v1alpha1.ActionResetDevice,
		},
		"a code that no longer counts is not held against the device": {
			policy: "xid.94=Healthy", seed: Finding{Code: "XID94", Grade: failed},
			read: reading(map[sample.Field]float64{sample.XID: 94}), passes: 1,
			want: v1alpha1.GradeHealthy, wantDo: v1alpha1.ActionNone,
		},
		"nobody is called healthy before a reading": {
			policy: "xid.94=Healthy", seed: Finding{Code: "XID94", Grade: failed},
			want: v1alpha1.GradeUnknown, wantDo: v1alpha1.ActionNone,
		},
		"a code that counts for less": {
			policy: "xid.79=Suspect", seed: Finding{Code: "XID79", Grade: failed},
			read: reading(map[sample.Field]float64{sample.XID: 79}), passes: 1,
			want: v1alpha1.GradeSuspect, wantDo: v1alpha1.ActionRebootNode,
		},
		"a finding of another version stands at first": {
			seed: Finding{Code: "FabricLost", Grade: failed, Action: v1alpha1.ActionRebootNode},
			read: reading(map[sample.Field]float64{sample.XID: 0}), passes: 1,
			want: failed, wantDo: v1alpha1.ActionRebootNode,
		},
		"a finding of another version ends by clean passes": {
			seed: Finding{Code: "FabricLost", Grade: failed, Action: v1alpha1.ActionRebootNode},
			read: reading(map[sample.Field]float64{sample.XID: 0}), passes: 61,
			want: v1alpha1.GradeHealthy, wantDo: v1alpha1.ActionNone,
		},
		"a finding of another version is not ended by passes that prove nothing": {
			seed: Finding{Code: "FabricLost", Grade: failed, Action: v1alpha1.ActionRebootNode},
			read: reading(map[sample.Field]float64{sample.ECCDoubleBit: 0}), passes: 100,
			want: failed, wantDo: v1alpha1.ActionRebootNode,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tracker := NewTracker(parsedPolicy(t, test.policy))
			tracker.Seed(test.seed, false)
			now := midnight
			for range test.passes {
				now = now.Add(10 * time.Second)
				tracker.Observe("dcgm", now, budget, test.read)
			}
			got := tracker.Verdict(now)
			if got.Grade != test.want || got.Action != test.wantDo {
				t.Errorf("got %s, want %s, do %s", describe(got), test.want, test.wantDo)
			}
		})
	}
}

// A new process believes that the vendor excludes a device until the gauge is 0.
func TestSeedRestoresThatTheVendorExcludes(t *testing.T) {
	t.Parallel()
	tracker := NewTracker(parsedPolicy(t, ""))
	tracker.Seed(Finding{Code: "XID79", Grade: v1alpha1.GradeFailed}, true)
	tracker.Seed(Finding{Code: "RowRemapPending", Grade: v1alpha1.GradeDegraded}, false)
	if !tracker.Verdict(midnight).VendorExcludes {
		t.Error("it was forgotten")
	}
	tracker.Observe("dcgm", midnight, budget, reading(map[sample.Field]float64{sample.XID: 0}))
	if tracker.Verdict(midnight).VendorExcludes {
		t.Error("it outlived the reset")
	}
}

// A verdict that said something new with every pass would make every pass a change of
// the whole fleet.
func TestVerdictOfAStandingFaultDoesNotChange(t *testing.T) {
	t.Parallel()
	for name, read := range map[string]func(pass int) *sample.Fields{
		"xid":   func(int) *sample.Fields { return reading(map[sample.Field]float64{sample.XID: 79}) },
		"clean": func(int) *sample.Fields { return reading(map[sample.Field]float64{sample.XID: 0}) },
		"flags": func(int) *sample.Fields {
			return reading(map[sample.Field]float64{sample.RowRemapFailure: 1, sample.RowRemapPending: 1, sample.ECCDoubleBit: 3})
		},
		"throttled": func(int) *sample.Fields { return reading(map[sample.Field]float64{sample.ClocksEventReasons: 0x48}) },
		"replays at a changing rate": func(pass int) *sample.Fields {
			return reading(map[sample.Field]float64{sample.PCIeReplays: float64(1000*pass + pass*pass)})
		},
		"violation at a changing rate": func(pass int) *sample.Fields {
			return reading(map[sample.Field]float64{sample.ThermalViolation: float64(3*pass) + float64(pass*pass)/1000})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tracker := NewTracker(parsedPolicy(t, ""))
			var settled Verdict
			now := midnight
			for pass := range 300 {
				now = now.Add(10 * time.Second)
				tracker.Observe("dcgm", now, budget, read(pass))
				switch verdict := tracker.Verdict(now); {
				case pass == 100: // after every threshold of time
					settled = verdict
				case pass > 100:
					if diff := cmp.Diff(settled, verdict); diff != "" {
						t.Fatalf("pass %d changed the verdict (-before +after):\n%s", pass, diff)
					}
				}
			}
		})
	}
}

// A published verdict is the reader's: what the tracker learns later is not in it.
func TestVerdictIsACopy(t *testing.T) {
	t.Parallel()
	tracker := NewTracker(parsedPolicy(t, ""))
	tracker.Observe("dcgm", midnight, budget, reading(map[sample.Field]float64{sample.XID: 79}))
	before := tracker.Verdict(midnight)
	tracker.Observe("dcgm", midnight.Add(time.Second), budget, reading(map[sample.Field]float64{sample.XID: 0}))
	if !before.Findings[0].CleanSince.IsZero() {
		t.Error("the verdict changed after it was given")
	}
}

func TestCleanSinceIsWhenTheLastFindingWent(t *testing.T) {
	t.Parallel()
	early, late := midnight, midnight.Add(time.Minute)
	for name, test := range map[string]struct {
		findings []Finding
		want     time.Time
	}{
		"none":           {},
		"one stands":     {findings: []Finding{{CleanSince: early}, {}}},
		"all are clean":  {findings: []Finding{{CleanSince: late}, {CleanSince: early}}, want: late},
		"the only stand": {findings: []Finding{{}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			verdict := Verdict{Findings: test.findings}
			if got := verdict.CleanSince(); !got.Equal(test.want) {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// A gap is judged by how long the reading before it could be believed.
func TestGapIsJudgedByTheBudgetOfTheReadingBefore(t *testing.T) {
	t.Parallel()
	tracker := NewTracker(parsedPolicy(t, ""))
	clean := reading(map[sample.Field]float64{sample.XID: 0})
	tracker.Observe("dcgm", midnight, budget, reading(map[sample.Field]float64{sample.XID: 79}))
	tracker.Observe("dcgm", midnight.Add(time.Second), budget, clean)
	tracker.Observe("dcgm", midnight.Add(time.Minute), time.Hour, clean)
	verdict := tracker.Verdict(midnight.Add(time.Minute))
	if want := midnight.Add(time.Minute); !verdict.CleanSince().Equal(want) {
		t.Errorf("probation runs from %s, want %s: nobody looked for a minute", verdict.CleanSince(), want)
	}
}
