package placement

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/internal/fleet"
)

// fills are ways to be full, from the emptiest to more than full.
var fills = []View{
	{Capacity: 8, Allocatable: 8},
	{Capacity: 8, Allocatable: 8, Requested: 1},
	{Capacity: 8, Allocatable: 8, Requested: 7},
	{Capacity: 1, Allocatable: 1},
	{Capacity: 1 << 40, Allocatable: 1 << 40, Requested: 1<<40 - 1},
	{Capacity: 8, Allocatable: 1, Requested: 8},
	{Capacity: 8, Allocatable: 0, Requested: 8},
}

func TestABetterGradeBeatsAnyPacking(t *testing.T) {
	worse := []v1alpha1.Grade{v1alpha1.GradeDegraded, v1alpha1.GradeSuspect, v1alpha1.GradeUnknown, v1alpha1.GradeHealthy}
	score := func(grade v1alpha1.Grade, fill View) int64 {
		// The worst device counts, so a healthy one beside it changes nothing.
		fill.Node = node(device(0), device(1, graded(grade)))
		got := Score(&fill, wholeGPU, 0)
		if got < 0 || got/tierWidth >= int64(tierCount) {
			t.Errorf("%s, %d of %d: score %d", grade, fill.Requested, fill.Allocatable, got)
		}
		return got
	}
	for i, low := range worse {
		for _, high := range worse[i+1:] {
			for _, empty := range fills {
				for _, full := range fills {
					if a, b := score(high, empty), score(low, full); a <= b {
						t.Errorf("%s on %d of %d scores %d, %s on %d of %d %d",
							high, empty.Requested, empty.Allocatable, a, low, full.Requested, full.Allocatable, b)
					}
				}
			}
		}
	}
}

func TestScoreTier(t *testing.T) {
	suspect, degraded := graded(v1alpha1.GradeSuspect), graded(v1alpha1.GradeDegraded)
	tests := map[string]struct {
		view View
		want tier
	}{
		"telemetry does not know the node":         {want: tierUnknown},
		"telemetry is silent":                      {view: View{Node: node(device(0), device(1, degraded)), Stale: true}, want: tierUnknown},
		"all are healthy":                          {view: View{Node: node(device(0), device(1))}, want: tierHealthy},
		"the worst counts":                         {view: View{Node: node(device(0), device(1, degraded), device(2, suspect))}, want: tierDegraded},
		"no device serves":                         {view: View{Node: node(device(0, cut("1g.10gb"))), MixedMIG: true}, want: tierUnknown},
		"devices that do not serve do not count":   {view: View{Node: node(device(0), device(1, degraded, cut("1g.10gb"))), MixedMIG: true}, want: tierHealthy},
		"a device proven to be out does not count": {view: View{Node: node(device(0), device(1, failed, vendorExcludes))}, want: tierHealthy},
		"Failed but released is as Degraded":       {view: View{Node: node(device(0), device(1, failed)), Quarantined: quarantines{released("GPU-1")}}, want: tierDegraded},
		"released stays so in silence":             {view: View{Node: node(device(0), device(1, failed)), Quarantined: quarantines{released("GPU-1")}, Stale: true}, want: tierDegraded},
		"a grade yet to be known":                  {view: View{Node: node(device(0, graded("Splendid")))}, want: tierUnknown},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := tier(Score(&test.view, wholeGPU, 0) / tierWidth); got != test.want {
				t.Errorf("tier %d, want %d", got, test.want)
			}
		})
	}
}

func TestTheFullerNodeWinsWithinATier(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	fleetNode := node(device(0), device(1))
	for range 10_000 {
		allocatable := random.Int64N(64) + 1
		emptier, fuller := random.Int64N(allocatable), random.Int64N(allocatable)
		emptier, fuller = min(emptier, fuller), max(emptier, fuller)
		a := Score(&View{Node: fleetNode, Allocatable: allocatable, Requested: emptier}, wholeGPU, 0)
		b := Score(&View{Node: fleetNode, Allocatable: allocatable, Requested: fuller}, wholeGPU, 0)
		if a > b || (emptier < fuller && a == b) {
			t.Fatalf("%d of %d scores %d, %d of %d only %d", emptier, allocatable, a, fuller, allocatable, b)
		}
	}
}

func TestScoreIsInRangeOnEveryNode(t *testing.T) {
	for seed := range uint64(20_000) {
		w := randomWorld(rand.New(rand.NewPCG(seed, 2)))
		w.view.Requested = int64(seed % 20)
		if got := Score(&w.view, w.want, 0); got < 0 || got/tierWidth >= int64(tierCount) {
			t.Fatalf("seed %d: score %d\n%s", seed, got, w)
		}
	}
}

func TestRank(t *testing.T) {
	view := View{
		Node: node(
			device(4, failed), device(3, graded(v1alpha1.GradeDegraded)), device(2), device(1), device(0, graded(v1alpha1.GradeUnknown)),
			device(5, func(d *fleet.Device) {
				d.Grade, d.Reasons = v1alpha1.GradeSuspect, []fleet.Reason{{Code: "Throttled"}}
			}),
			device(6, cut("1g.10gb")), device(7),
		),
		Quarantined: quarantines{quarantined("GPU-7")}, MixedMIG: true,
	}
	tests := map[string]struct {
		change func(*View)
		want   []Ranked
	}{
		"by fitness, grade and UUID": {want: []Ranked{
			{UUID: "GPU-1", Index: "1", Fit: true, Why: "Healthy"},
			{UUID: "GPU-2", Index: "2", Fit: true, Why: "Healthy"},
			{UUID: "GPU-0", Index: "0", Fit: true, Why: "Unknown"},
			{UUID: "GPU-5", Index: "5", Fit: true, Why: "Suspect: Throttled"},
			{UUID: "GPU-3", Index: "3", Fit: true, Why: "Degraded"},
			{UUID: "GPU-7", Index: "7", Why: "RowRemapFailure"},
			{UUID: "GPU-4", Index: "4", Why: "XID79"},
		}},
		"in silence": {change: func(v *View) { v.Stale = true; v.Node = node(v.Node.Devices[:3]...) }, want: []Ranked{
			{UUID: "GPU-2", Index: "2", Fit: true, Why: "telemetry is silent"},
			{UUID: "GPU-3", Index: "3", Fit: true, Why: "telemetry is silent"},
			{UUID: "GPU-4", Index: "4", Why: "XID79"},
		}},
		"a node that is not known": {change: func(v *View) { v.Node = nil }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			view := view
			if test.change != nil {
				test.change(&view)
			}
			got := Rank(&view, wholeGPU)
			for i := range got {
				got[i].tier = 0
			}
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(Ranked{})); diff != "" {
				t.Errorf("ranking (-want +got):\n%s", diff)
			}
		})
	}
}
