package placement

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/internal/accelerator"
	"wastenot.dev/internal/fleet"
	"wastenot.dev/internal/quarantine"
)

type quarantines = []quarantine.Entry

func TestCheck(t *testing.T) {
	twoWhole := node(device(0, failed), device(1))
	excluded := node(device(0, failed, vendorExcludes), device(1), device(2))
	twoExcluded := node(device(0, failed, vendorExcludes), device(1, failed, vendorExcludes), device(2))
	mixed := node(device(0, failed, cut("1g.10gb", "1g.10gb", "3g.40gb")), device(1, cut("1g.10gb")), device(2))
	mixedExcluded := node(device(0, failed, vendorExcludes, cut("1g.10gb", "1g.10gb", "3g.40gb")), device(1, cut("1g.10gb")), device(2))
	tests := map[string]struct {
		view View
		want accelerator.Request
		// wantUnfit are UUIDs; none means that the node may be used.
		wantUnfit []string
	}{
		"telemetry knows nothing, nothing is quarantined": {view: View{Capacity: 8, Allocatable: 8}, want: wholeGPU},
		"all are healthy": {view: View{Node: node(device(0), device(1)), Capacity: 2, Allocatable: 2}, want: wholeGPU},
		"what is only suspected does not close a node": {
			view: View{Node: node(device(0, graded(v1alpha1.GradeDegraded)), device(1, graded(v1alpha1.GradeSuspect)), device(2, graded(v1alpha1.GradeUnknown))), Capacity: 3, Allocatable: 3},
			want: wholeGPU,
		},

		"Failed without a quarantine":   {view: View{Node: twoWhole, Capacity: 2, Allocatable: 2}, want: wholeGPU, wantUnfit: []string{"GPU-0"}},
		"Failed, telemetry is silent":   {view: View{Node: twoWhole, Capacity: 2, Allocatable: 2, Stale: true}, want: wholeGPU, wantUnfit: []string{"GPU-0"}},
		"Failed and quarantined":        {view: View{Node: twoWhole, Quarantined: quarantines{quarantined("GPU-0")}, Capacity: 2, Allocatable: 2}, want: wholeGPU, wantUnfit: []string{"GPU-0"}},
		"Failed but released":           {view: View{Node: twoWhole, Quarantined: quarantines{released("GPU-0")}, Capacity: 2, Allocatable: 2}, want: wholeGPU},
		"Failed, another is released":   {view: View{Node: twoWhole, Quarantined: quarantines{released("GPU-1")}, Capacity: 2, Allocatable: 2}, want: wholeGPU, wantUnfit: []string{"GPU-0"}},
		"healthy again but quarantined": {view: View{Node: node(device(0)), Quarantined: quarantines{quarantined("GPU-0")}, Capacity: 1, Allocatable: 1}, want: wholeGPU, wantUnfit: []string{"GPU-0"}},
		"two are unfit": {
			view: View{Node: twoWhole, Quarantined: quarantines{quarantined("GPU-1")}, Capacity: 2, Allocatable: 2},
			want: wholeGPU, wantUnfit: []string{"GPU-0", "GPU-1"},
		},

		"quarantined, telemetry is down":       {view: View{Quarantined: quarantines{quarantined("GPU-0")}, Capacity: 8, Allocatable: 7}, want: wholeGPU, wantUnfit: []string{"GPU-0"}},
		"quarantined and vanished":             {view: View{Node: node(device(1)), Quarantined: quarantines{quarantined("GPU-0")}, Capacity: 2, Allocatable: 1}, want: wholeGPU, wantUnfit: []string{"GPU-0"}},
		"quarantined and vanished, a MIG pod":  {view: View{Node: node(device(1)), Quarantined: quarantines{quarantined("GPU-0")}, Capacity: 2, Allocatable: 1}, want: smallMIG, wantUnfit: []string{"GPU-0"}},
		"released, telemetry is down":          {view: View{Quarantined: quarantines{released("GPU-0")}, Capacity: 8, Allocatable: 8}, want: wholeGPU},
		"vanished, but another is taken out":   {view: View{Node: excluded, Quarantined: quarantines{quarantined("GPU-9")}, Capacity: 3, Allocatable: 2}, want: wholeGPU, wantUnfit: []string{"GPU-0", "GPU-9"}},
		"vanished and released, other is out":  {view: View{Node: excluded, Quarantined: quarantines{released("GPU-9")}, Capacity: 3, Allocatable: 2}, want: wholeGPU},
		"layout unknown, a MIG pod":            {view: View{Node: node(device(0, failed, layoutUnknown), device(1)), Capacity: 7, Allocatable: 7, MixedMIG: true}, want: smallMIG, wantUnfit: []string{"GPU-0"}},
		"layout unknown, a MIG pod, taken out": {view: View{Node: node(device(0, failed, vendorExcludes, layoutUnknown), device(1, cut("1g.10gb"))), Capacity: 7, Allocatable: 6, MixedMIG: true}, want: smallMIG, wantUnfit: []string{"GPU-0"}},
		"layout unknown, no MIG, taken out":    {view: View{Node: node(device(0, failed, vendorExcludes, layoutUnknown), device(1)), Capacity: 2, Allocatable: 1}, want: wholeGPU},
		"layout unknown, mixed, taken out":     {view: View{Node: node(device(0, failed, vendorExcludes, layoutUnknown), device(1)), Capacity: 2, Allocatable: 1, MixedMIG: true}, want: wholeGPU, wantUnfit: []string{"GPU-0"}},
		"a GPU's quarantine and a Neuron pod":  {view: View{Quarantined: quarantines{quarantined("GPU-0")}, Capacity: 1, Allocatable: 1}, want: neuron},
		"a Neuron device's and a GPU pod":      {view: View{Quarantined: quarantines{quarantined("i-0abc-neuron-0")}, Capacity: 1, Allocatable: 1}, want: wholeGPU},
		"a Neuron device's and a Neuron pod":   {view: View{Quarantined: quarantines{quarantined("i-0abc-neuron-0")}, Capacity: 1, Allocatable: 1}, want: neuron, wantUnfit: []string{"i-0abc-neuron-0"}},
		"a failed Neuron device":               {view: View{Node: node(device(0, failed, aws), device(1, aws)), Capacity: 4, Allocatable: 4}, want: neuron, wantUnfit: []string{"i-0abc-neuron-0"}},
		"a failed Neuron device is taken out":  {view: View{Node: node(device(0, failed, aws, vendorExcludes), device(1, aws)), Capacity: 4, Allocatable: 2}, want: neuron},
		"a failed Neuron device and a GPU pod": {view: View{Node: node(device(0, failed, aws), device(1)), Capacity: 1, Allocatable: 1}, want: wholeGPU},

		"the vendor took out exactly it": {view: View{Node: excluded, Capacity: 3, Allocatable: 2}, want: wholeGPU},
		"the vendor's exclusion is told by the record": {
			view: View{Node: node(device(0, failed), device(1)), Quarantined: quarantines{{UUID: "GPU-0", VendorExcludes: true}}, Capacity: 2, Allocatable: 1},
			want: wholeGPU,
		},
		"the vendor took out none yet":   {view: View{Node: excluded, Capacity: 3, Allocatable: 3}, want: wholeGPU, wantUnfit: []string{"GPU-0"}},
		"the vendor took out more":       {view: View{Node: excluded, Capacity: 3, Allocatable: 1}, want: wholeGPU, wantUnfit: []string{"GPU-0"}},
		"the vendor took out one of two": {view: View{Node: twoExcluded, Capacity: 3, Allocatable: 2}, want: wholeGPU, wantUnfit: []string{"GPU-0", "GPU-1"}},
		"the vendor took out both":       {view: View{Node: twoExcluded, Capacity: 3, Allocatable: 1}, want: wholeGPU},
		"it takes out one but not the other unfit": {
			view: View{Node: excluded, Quarantined: quarantines{quarantined("GPU-1")}, Capacity: 3, Allocatable: 2},
			want: wholeGPU, wantUnfit: []string{"GPU-0", "GPU-1"},
		},
		"another is out, of which this is not expected": {view: View{Node: twoWhole, Capacity: 2, Allocatable: 1}, want: wholeGPU, wantUnfit: []string{"GPU-0"}},
		"a released one is out as well":                 {view: View{Node: twoExcluded, Quarantined: quarantines{released("GPU-1")}, Capacity: 3, Allocatable: 1}, want: wholeGPU},

		"shares: one of three devices is out":             {view: View{Node: excluded, Capacity: 12, Allocatable: 8}, want: sharedGPU},
		"shares: one share of it is left":                 {view: View{Node: excluded, Capacity: 12, Allocatable: 9}, want: sharedGPU, wantUnfit: []string{"GPU-0"}},
		"shares: the devices do not have equally many":    {view: View{Node: excluded, Capacity: 13, Allocatable: 9}, want: sharedGPU, wantUnfit: []string{"GPU-0"}},
		"shares: the vendor takes nothing out":            {view: View{Node: twoWhole, Capacity: 8, Allocatable: 8}, want: sharedGPU, wantUnfit: []string{"GPU-0"}},
		"the node does not offer the resource any longer": {view: View{Node: excluded}, want: wholeGPU, wantUnfit: []string{"GPU-0"}},

		"MIG: a profile of the failed device":          {view: View{Node: mixed, Capacity: 3, Allocatable: 3, MixedMIG: true}, want: smallMIG, wantUnfit: []string{"GPU-0"}},
		"MIG: a profile of it that no other has":       {view: View{Node: mixed, Capacity: 1, Allocatable: 1, MixedMIG: true}, want: bigMIG, wantUnfit: []string{"GPU-0"}},
		"MIG: whole devices beside it":                 {view: View{Node: mixed, Capacity: 1, Allocatable: 1, MixedMIG: true}, want: wholeGPU},
		"MIG: the failed one is whole":                 {view: View{Node: node(device(0, failed), device(1, cut("1g.10gb"))), Capacity: 1, Allocatable: 1, MixedMIG: true}, want: smallMIG},
		"MIG: all its instances are out":               {view: View{Node: mixedExcluded, Capacity: 3, Allocatable: 1, MixedMIG: true}, want: smallMIG},
		"MIG: one of its two instances is out":         {view: View{Node: mixedExcluded, Capacity: 3, Allocatable: 2, MixedMIG: true}, want: smallMIG, wantUnfit: []string{"GPU-0"}},
		"MIG: its layout is not known":                 {view: View{Node: node(device(0, failed, cut()), device(1, cut("1g.10gb"))), Capacity: 2, Allocatable: 2, MixedMIG: true}, want: smallMIG, wantUnfit: []string{"GPU-0"}},
		"MIG: its layout is not known, some are out":   {view: View{Node: node(device(0, failed, vendorExcludes, cut()), device(1, cut("1g.10gb"))), Capacity: 2, Allocatable: 1, MixedMIG: true}, want: smallMIG, wantUnfit: []string{"GPU-0"}},
		"MIG: its layout is not known, a whole device": {view: View{Node: node(device(0, failed, cut()), device(1)), Capacity: 1, Allocatable: 1, MixedMIG: true}, want: wholeGPU},
		"one profile under the name of whole devices":  {view: View{Node: node(device(0, failed, cut("1g.10gb", "1g.10gb")), device(1, cut("1g.10gb", "1g.10gb"))), Capacity: 4, Allocatable: 4}, want: wholeGPU, wantUnfit: []string{"GPU-0"}},
		"one profile, and the vendor took the device out": {
			view: View{Node: node(device(0, failed, vendorExcludes, cut("1g.10gb", "1g.10gb")), device(1, cut("1g.10gb", "1g.10gb"))), Capacity: 4, Allocatable: 2},
			want: wholeGPU,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, unfit := range Check(&test.view, test.want) {
				got = append(got, unfit.UUID)
			}
			if diff := cmp.Diff(test.wantUnfit, got); diff != "" {
				t.Errorf("unfit devices (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCheckExplains(t *testing.T) {
	bare := func(d *fleet.Device) { d.Grade, d.Action = v1alpha1.GradeFailed, v1alpha1.ActionNone }
	tests := map[string]struct {
		view     View
		want     Unfit
		wantText string
	}{
		"by what telemetry read": {
			view:     View{Node: node(device(3, failed))},
			want:     Unfit{UUID: "GPU-3", Index: "3", Reason: "XID79", Detail: "fell off the bus", Action: "ReplaceDevice"},
			wantText: "gpu 3 (GPU-3) XID79, needs ReplaceDevice",
		},
		"by the record before telemetry": {
			view:     View{Node: node(device(3, failed)), Quarantined: quarantines{{UUID: "GPU-3", Reason: "Operator"}}},
			want:     Unfit{UUID: "GPU-3", Index: "3", Reason: "Operator", Detail: "fell off the bus"},
			wantText: "gpu 3 (GPU-3) Operator",
		},
		"by the record alone": {
			view:     View{Quarantined: quarantines{quarantined("GPU-3")}},
			want:     Unfit{UUID: "GPU-3", Reason: "RowRemapFailure", Detail: "no rows are left", Action: "ReplaceDevice"},
			wantText: "GPU-3 RowRemapFailure, needs ReplaceDevice",
		},
		"by its grade when there is nothing else": {
			view:     View{Node: node(device(3, bare))},
			want:     Unfit{UUID: "GPU-3", Index: "3", Reason: "Failed", Action: "None"},
			wantText: "gpu 3 (GPU-3) Failed",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := Check(&test.view, wholeGPU)
			if diff := cmp.Diff([]Unfit{test.want}, got); diff != "" {
				t.Fatalf("unfit (-want +got):\n%s", diff)
			}
			if got[0].String() != test.wantText {
				t.Errorf("text %q, want %q", got[0], test.wantText)
			}
		})
	}
}

func TestACleanNodeCostsNoAllocation(t *testing.T) {
	var devices []fleet.Device
	for i := range 8 {
		devices = append(devices, device(i, cut("1g.10gb")))
	}
	view := View{Node: node(devices...), Capacity: 8, Allocatable: 8, Requested: 3, MixedMIG: true}
	if allocations := testing.AllocsPerRun(100, func() { Check(&view, smallMIG) }); allocations > 0 {
		t.Errorf("Check: %v allocations", allocations)
	}
	if allocations := testing.AllocsPerRun(100, func() { Score(&view, smallMIG, 0) }); allocations > 0 {
		t.Errorf("Score: %v allocations", allocations)
	}
}
