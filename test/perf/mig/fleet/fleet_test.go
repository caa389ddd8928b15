package fleet_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"wastenot.dev/placement/packing"
	"wastenot.dev/test/perf/mig/fleet"
)

func named(t *testing.T, name string) *fleet.Geometry {
	t.Helper()
	g, err := fleet.Named(name)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// The judge's table and the one that it judges were written apart.
func TestPlacesAreThoseOfPacking(t *testing.T) {
	t.Parallel()
	for _, name := range fleet.Geometries() {
		g := named(t, name)
		layout, ok := packing.MIG(g.Product)
		if !ok {
			t.Fatalf("%s has no layout", g.Product)
		}
		want, got := map[string]bool{}, map[string]bool{}
		for _, profile := range g.Profiles {
			for _, start := range profile.Starts {
				want[fmt.Sprintf("%s@%d", profile.Name, start)] = true
			}
		}
		for _, part := range layout.Parts() {
			if !strings.ContainsAny(part.Kind, "+-") {
				got[part.Name] = true
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if _, err := fleet.Named("T4"); err == nil || !strings.Contains(err.Error(), "A100, A30, H100, H200") {
		t.Errorf("unknown geometry: error %v", err)
	}
}

// A100 profiles by index: 0 1g.5gb, 1 1g.10gb, 2 2g.10gb, 3 3g.20gb, 4 4g.20gb, 5 7g.40gb.
func TestPlaceRefusesWhatTheHardwareDoes(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		before []fleet.Placement
		place  fleet.Placement
		want   string
	}{
		"fits":                 {nil, fleet.Placement{Profile: 3, Start: 4}, ""},
		"4g beside 3g":         {[]fleet.Placement{{Profile: 3, Start: 4}}, fleet.Placement{Profile: 4}, ""},
		"overlap":              {[]fleet.Placement{{Profile: 0, Start: 3}}, fleet.Placement{Profile: 3, Start: 0}, "slices are taken"},
		"compute is used up":   {[]fleet.Placement{{Profile: 4}, {Profile: 2, Start: 4}}, fleet.Placement{Profile: 1, Start: 6}, ""},
		"eighth compute slice": {[]fleet.Placement{{Profile: 2}, {Profile: 2, Start: 2}, {Profile: 3, Start: 4}}, fleet.Placement{Profile: 0, Start: 6}, "slices are taken"},
		"start not allowed":    {nil, fleet.Placement{Profile: 2, Start: 1}, "may not start at slice 1"},
		"start beyond the end": {nil, fleet.Placement{Profile: 0, Start: 7}, "may not start at slice 7"},
		"no such GPU":          {nil, fleet.Placement{GPU: 1}, "no GPU 1"},
		"no such profile":      {nil, fleet.Placement{Profile: 6}, "no profile 6"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := fleet.New(named(t, "A100"), 1, 1)
			for _, p := range tt.before {
				if err := f.Place(p); err != nil {
					t.Fatal(err)
				}
			}
			free := f.FreeSlices(0)
			err := f.Place(tt.place)
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
			if err == nil {
				if err := f.Remove(tt.place); err != nil {
					t.Error(err)
				}
			}
			if f.FreeSlices(0) != free || f.Used() != min(len(tt.before), 1) {
				t.Errorf("%d slices free and %d GPUs used, want %d and %d", f.FreeSlices(0), f.Used(), free, min(len(tt.before), 1))
			}
			if err := f.Remove(fleet.Placement{Profile: 5}); err == nil {
				t.Error("an instance that is not there was removed")
			}
		})
	}
}
