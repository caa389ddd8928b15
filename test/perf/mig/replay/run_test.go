package replay_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"wastenot.dev/test/perf/mig/fleet"
	"wastenot.dev/test/perf/mig/load"
	"wastenot.dev/test/perf/mig/replay"
)

// answer is a policy that always says the same.
type answer struct {
	place fleet.Placement
	ok    bool
}

func (a answer) Place(int) (fleet.Placement, bool) { return a.place, a.ok }
func (answer) Changed(fleet.Placement)             {}

func experiment(t *testing.T, arrivals ...load.Arrival) *replay.Experiment {
	t.Helper()
	g, err := fleet.Named("A100")
	if err != nil {
		t.Fatal(err)
	}
	return &replay.Experiment{Geometry: g, GPUs: 1, PerNode: 1, Arrivals: arrivals}
}

func TestWrongAnswersFail(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		answer
		want string
	}{
		"rejects what fits":   {answer{}, "rejected that fits"},
		"slice taken twice":   {answer{fleet.Placement{Profile: 0, Start: 2}, true}, "slices are taken"},
		"start not allowed":   {answer{fleet.Placement{Profile: 0, Start: 7}, true}, "may not start"},
		"no such GPU":         {answer{fleet.Placement{GPU: 9}, true}, "no GPU 9"},
		"another profile":     {answer{fleet.Placement{Profile: 1}, true}, "asks for profile 0 and got 1"},
		"negative GPU number": {answer{fleet.Placement{GPU: -1}, true}, "no GPU -1"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := experiment(t, load.Arrival{At: 1, Until: 9}, load.Arrival{At: 2, Until: 9})
			_, err := replay.Run(context.Background(), e, func(*fleet.Fleet, uint64) replay.Policy { return tt.answer })
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

// cheat changes the fleet that it is shown, to make its wrong answers look right.
type cheat struct{ *fleet.Fleet }

func (c cheat) Place(int) (fleet.Placement, bool) { return fleet.Placement{}, false }
func (cheat) Changed(fleet.Placement)             {}

func TestPolicyCannotReachTheJudge(t *testing.T) {
	t.Parallel()
	_, err := replay.Run(context.Background(), experiment(t, load.Arrival{At: 1, Until: 2}), func(f *fleet.Fleet, _ uint64) replay.Policy {
		if err := f.Place(fleet.Placement{Profile: 5}); err != nil {
			t.Error(err)
		}
		return cheat{f}
	})
	if err == nil || !strings.Contains(err.Error(), "rejected that fits") {
		t.Errorf("error %v", err)
	}
}

// Two 7g follow each other: the second comes after the first has left, the third is
// rejected, and only what comes after the warm one counts.
func TestResult(t *testing.T) {
	t.Parallel()
	e := experiment(t, load.Arrival{At: 1, Until: 2, Profile: 5}, load.Arrival{At: 2, Until: 4, Profile: 5}, load.Arrival{At: 3, Until: 9, Profile: 5}, load.Arrival{At: 6, Until: 9, Profile: 5})
	e.Warm = 1
	want := &replay.Result{Arrived: 3, Accepted: 2, ByProfile: []int{0, 0, 0, 0, 0, 2}, MeanUsed: 0.5, MeanSlices: 4}
	got, err := replay.Run(context.Background(), e, func(f *fleet.Fleet, _ uint64) replay.Policy { return first{f} })
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	want.MeanUsed = 0
	if diff := cmp.Diff(want, replay.Pool(e)); diff != "" {
		t.Errorf("pool: %s", diff)
	}
}

// Four 1g.10gb leave compute slices and no memory, a 4g, a 2g and a 1g a memory slice and
// no compute: the pool has to count both.
func TestPoolCountsMemoryAndCompute(t *testing.T) {
	t.Parallel()
	var arrivals []load.Arrival
	for range 4 {
		arrivals = append(arrivals, load.Arrival{At: 1, Until: 9, Profile: 1})
	}
	if got := replay.Pool(experiment(t, append(arrivals, load.Arrival{At: 2, Until: 9})...)).Accepted; got != 4 {
		t.Errorf("%d accepted beyond the memory, want 4", got)
	}
	arrivals = []load.Arrival{{At: 1, Until: 9, Profile: 4}, {At: 1, Until: 9, Profile: 2}, {At: 1, Until: 9}, {At: 2, Until: 9}}
	if got := replay.Pool(experiment(t, arrivals...)).Accepted; got != 3 {
		t.Errorf("%d accepted beyond the compute, want 3", got)
	}
}

type first struct{ *fleet.Fleet }

func (f first) Place(profile int) (fleet.Placement, bool) { return f.Anywhere(profile) }
func (first) Changed(fleet.Placement)                     {}
