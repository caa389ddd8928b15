package store

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"wastenot.dev/internal/fleet"
)

func TestMixIsPublished(t *testing.T) {
	t.Parallel()
	gpus := func(weight int64) *fleet.Mix {
		return &fleet.Mix{Items: []fleet.MixItem{{Kind: "nvidia.com/gpu", Count: 1, Milli: 1000, Weight: weight}}}
	}
	for name, test := range map[string]struct {
		before, set, want *fleet.Mix
		change            bool
	}{
		"the first":                    {nil, gpus(1), gpus(1), true},
		"another":                      {gpus(1), gpus(2), gpus(2), true},
		"an empty one after none":      {nil, &fleet.Mix{}, &fleet.Mix{}, true},
		"the same":                     {gpus(1), gpus(1), gpus(1), false},
		"one that is not known":        {gpus(1), nil, gpus(1), false},
		"one that is not known, first": {nil, nil, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, "node-1")
			f.read("node-1", gpu("a", 0))
			f.SetMix(test.before)
			before, changed := f.Snapshot(), f.Changed()
			f.SetMix(test.set)
			after := f.Snapshot()
			if diff := cmp.Diff(test.want, after.Mix); diff != "" {
				t.Errorf("mix (-want +got):\n%s", diff)
			}
			if (after != before) != test.change {
				t.Errorf("a new snapshot: %t, want %t", after != before, test.change)
			}
			if test.change && after.Generation != before.Generation+1 {
				t.Errorf("generation %d after %d", after.Generation, before.Generation)
			}
			select {
			case <-changed:
				if !test.change {
					t.Error("a change was told")
				}
			default:
				if test.change {
					t.Error("the change was not told")
				}
			}
			if after.Node("node-1") != before.Node("node-1") {
				t.Error("a node that did not change is not shared")
			}
		})
	}
}

func TestMixStaysWhenDevicesChange(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "node-1")
	mix := &fleet.Mix{Items: []fleet.MixItem{{Kind: "nvidia.com/gpu"}}}
	f.SetMix(mix)
	before := f.Snapshot().Generation
	f.read("node-1", gpu("a", 0))
	if got := f.Snapshot(); got.Mix != mix || got.Generation != before+1 {
		t.Errorf("mix %v at generation %d after %d", got.Mix, got.Generation, before)
	}
}
