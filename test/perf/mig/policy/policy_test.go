package policy_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"wastenot.dev/test/perf/mig/fleet"
	"wastenot.dev/test/perf/mig/load"
	"wastenot.dev/test/perf/mig/policy"
	"wastenot.dev/test/perf/mig/replay"
)

func construct(t *testing.T, name string) replay.Constructor {
	t.Helper()
	c, err := policy.New(name)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// The replay fails if a policy answers wrongly; here all do on every geometry, with one
// and with several GPUs on a node, and twice the same.
func TestEveryPolicyAnswersRightAndAlike(t *testing.T) {
	t.Parallel()
	for _, name := range policy.Names() {
		for _, geometry := range fleet.Geometries() {
			for _, perNode := range []int{1, 3} {
				g, err := fleet.Named(geometry)
				if err != nil {
					t.Fatal(err)
				}
				shares, err := load.Mix("uniform", len(g.Profiles))
				if err != nil {
					t.Fatal(err)
				}
				e := &replay.Experiment{Geometry: g, GPUs: 7, PerNode: perNode, Arrivals: load.Arrivals(g, shares, 7, 1.2, 150, 3), Warm: 20, Seed: 3}
				run := func() *replay.Result {
					r, err := replay.Run(context.Background(), e, construct(t, name))
					if err != nil {
						t.Fatalf("%s, %s, %d GPUs on a node: %v", name, geometry, perNode, err)
					}
					return r
				}
				if diff := cmp.Diff(run(), run()); diff != "" {
					t.Errorf("%s, %s: two runs differ: %s", name, geometry, diff)
				}
			}
		}
	}
	if _, err := policy.New("magic"); err == nil {
		t.Error("an unknown policy is known")
	}
}

// Where a 1g.5gb goes beside a 1g on GPU 0 and a 4g on GPU 1 of an A100.
func TestWhereAnInstanceGoes(t *testing.T) {
	t.Parallel()
	tests := map[string]fleet.Placement{
		"firstfit":      {GPU: 0, Start: 1},
		"firstfit-last": {GPU: 0, Start: 6},
		"bestfit":       {GPU: 1, Start: 4},
		"dra":           {GPU: 2, Start: 0},
	}
	g, _ := fleet.Named("A100")
	for name, want := range tests {
		f := fleet.New(g, 3, 1)
		p := construct(t, name)(f, 1)
		for _, before := range []fleet.Placement{{GPU: 0, Start: 0}, {GPU: 1, Profile: 4}} {
			if err := f.Place(before); err != nil {
				t.Fatal(err)
			}
			p.Changed(before)
		}
		if got, ok := p.Place(0); !ok || got != want {
			t.Errorf("%s: %+v (%v), want %+v", name, got, ok, want)
		}
	}
}
