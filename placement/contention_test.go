package placement

import (
	"testing"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/internal/accelerator"
	"wastenot.dev/internal/fleet"
)

func doing(activity v1alpha1.Activity) func(*fleet.Device) {
	return func(d *fleet.Device) { d.Activity = activity }
}

func attributed(how string) func(*fleet.Device) {
	return func(d *fleet.Device) { d.Attribution = how }
}

// held has pods on the device.
func held(d *fleet.Device) {
	d.Attribution, d.Holders = "held", []fleet.Holder{{}}
}

func TestContention(t *testing.T) {
	t.Parallel()
	busy, idle, poor := doing(v1alpha1.ActivityBusy), doing(v1alpha1.ActivityHeldIdle), doing(v1alpha1.ActivityLowEfficiency)
	none := attributed(attributionNone)
	for name, test := range map[string]struct {
		view View
		want accelerator.Request
		cost int16
	}{
		"telemetry does not know the node":     {View{}, sharedGPU, 0},
		"telemetry knows no device":            {View{Node: node()}, sharedGPU, 0},
		"telemetry is silent":                  {View{Node: node(device(0, busy)), Stale: true}, sharedGPU, 0},
		"shared: nobody works":                 {View{Node: node(device(0, idle), device(1))}, sharedGPU, 0},
		"shared: somebody works":               {View{Node: node(device(0, busy))}, sharedGPU, sharedContention},
		"shared: somebody works badly":         {View{Node: node(device(0, poor))}, sharedGPU, sharedContention},
		"shared: on half of them":              {View{Node: node(device(0, busy), device(1, idle))}, sharedGPU, sharedContention / 2},
		"shared: on one of three":              {View{Node: node(device(0, busy), device(1), device(2))}, sharedGPU, sharedContention / 3},
		"shared: holders are its users":        {View{Node: node(device(0, busy, held), device(1, held))}, sharedGPU, sharedContention / 2},
		"shared: nobody else can get it":       {View{Node: node(device(0, busy), device(1, failed))}, sharedGPU, sharedContention},
		"shared: the busy one is quarantined":  {View{Node: node(device(0, busy), device(1)), Quarantined: quarantines{quarantined("GPU-0")}}, sharedGPU, 0},
		"shared: the busy one was given back":  {View{Node: node(device(0, busy), device(1)), Quarantined: quarantines{released("GPU-0")}}, sharedGPU, sharedContention / 2},
		"shared: another vendor's is busy":     {View{Node: node(device(0, busy, aws), device(1))}, sharedGPU, 0},
		"shared: under MIG only parts say":     {View{Node: node(device(0, busy, cut("1g.10gb")))}, sharedGPU, 0},
		"whole: nobody works":                  {View{Node: node(device(0, none, idle))}, wholeGPU, 0},
		"whole: a stranger works":              {View{Node: node(device(0, none, busy))}, wholeGPU, wholeContention},
		"whole: a stranger on one of four":     {View{Node: node(device(0, none, busy), device(1), device(2), device(3))}, wholeGPU, wholeContention / 4},
		"whole: whose work it is is not known": {View{Node: node(device(0, busy), device(1, busy, attributed("unknown")))}, wholeGPU, 0},
		"whole: held around the plugin":        {View{Node: node(device(0, busy, attributed("empty")))}, wholeGPU, 0},
		"whole: those that are held are taken": {View{Node: node(device(0, held, busy), device(1, held), device(2, none, busy))}, wholeGPU, wholeContention},
		"whole: all are held":                  {View{Node: node(device(0, held, busy))}, wholeGPU, 0},
		"whole: MIG offered beside it":         {View{Node: node(device(0, none, busy), device(1, none, busy, cut("1g.10gb")), device(2)), MixedMIG: true}, wholeGPU, wholeContention / 2},
		"MIG: its activity says nothing":       {View{Node: node(device(0, none, busy, cut("1g.10gb"))), MixedMIG: true}, smallMIG, 0},
		"MIG: whole devices do not serve":      {View{Node: node(device(0, none, busy), device(1, cut("1g.10gb"))), MixedMIG: true}, smallMIG, 0},
		"Neuron: a stranger works":             {View{Node: node(device(0, none, busy, aws))}, neuron, wholeContention},
		"Neuron: a GPU is busy":                {View{Node: node(device(0, none, busy))}, neuron, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := Contention(&test.view, test.want); got != test.cost {
				t.Errorf("contention %d, want %d", got, test.cost)
			}
		})
	}
}

// TestContentionIsAShareOfTheMost on every node that can be.
func TestContentionIsAShareOfTheMost(t *testing.T) {
	t.Parallel()
	for count := 1; count <= 16; count++ {
		for working := range count + 1 {
			n := node()
			for i := range count {
				d := device(i, attributed(attributionNone))
				if i < working {
					d.Activity = v1alpha1.ActivityBusy
				}
				n.Devices = append(n.Devices, d)
			}
			for want, most := range map[*accelerator.Request]int{&sharedGPU: sharedContention, &wholeGPU: wholeContention} {
				if got := int(Contention(&View{Node: n}, *want)); got != most*working/count {
					t.Errorf("%d of %d work: %d of %d", working, count, got, most)
				}
			}
		}
	}
}
