package packing

import (
	"slices"
	"testing"
)

// gpus is a node of whole devices with so much left.
func gpus(free ...uint64) Node {
	n := Node{CPUMilli: 64_000, MemoryMiB: 1 << 20}
	for _, left := range free {
		n.Devices = append(n.Devices, Device{Layout: wholeGPU, Free: left})
	}
	return n
}

// with changes the devices of the node.
func with(n Node, change func(*Device)) Node {
	for i := range n.Devices {
		change(&n.Devices[i])
	}
	return n
}

func suspect(d *Device) { d.Tier = 1 }

func busy(d *Device) { d.Busy = 400 }

func TestOrderOfNodes(t *testing.T) {
	t.Parallel()
	half := Request{Kind: "gpu", Count: 1, Milli: 500, CPUMilli: 1000}
	one := Request{Kind: "gpu", Count: 1, Milli: Whole, CPUMilli: 1000}
	two := Request{Kind: "gpu", Count: 2, Milli: Whole, CPUMilli: 1000}
	mix := NewMix([]Item{{half, 10}, {one, 10}, {two, 1}})
	for name, test := range map[string]struct {
		mix   *Mix
		nodes map[string]Node
		ask   Request
		want  []string
	}{
		"a worse tier loses at any price": {mix, map[string]Node{"perfect": with(gpus(500), suspect), "poor": gpus(1000, 1000)}, half, []string{"poor", "perfect"}},
		"the worst of what it gets":       {mix, map[string]Node{"one": {CPUMilli: 9000, Devices: []Device{{Layout: wholeGPU, Free: 1000, Tier: 2}, {Layout: wholeGPU, Free: 1000}}}, "both": with(gpus(1000, 1000), suspect)}, two, []string{"both", "one"}},
		"what it need not get is nothing": {mix, map[string]Node{"one": {CPUMilli: 9000, Devices: []Device{{Layout: wholeGPU, Free: 1000, Tier: 2}, {Layout: wholeGPU, Free: 1000}}}, "both": with(gpus(1000, 1000), suspect)}, one, []string{"one", "both"}},
		"the half that is free":           {mix, map[string]Node{"a": gpus(1000, 1000), "b": gpus(1000, 500)}, half, []string{"b", "a"}},
		"a node on which nobody works":    {mix, map[string]Node{"a": with(gpus(1000, 500), busy), "b": gpus(1000, 500)}, half, []string{"b", "a"}},
		"the fuller of equal ones":        {NewMix(nil), map[string]Node{"a": gpus(1000, 1000, 0), "b": gpus(1000, 0, 0)}, one, []string{"b", "a"}},
		"an open node of equal ones":      {NewMix(nil), map[string]Node{"a": gpus(1000), "b": gpus(1000, 1000, 1000, 0)}, one, []string{"b", "a"}},
		"by name at last":                 {mix, map[string]Node{"b": gpus(1000, 0), "c": gpus(0, 1000), "a": gpus(1000, 0)}, one, []string{"a", "b", "c"}},
		"what does not fit is not there":  {mix, map[string]Node{"a": gpus(1000, 999), "b": gpus(1000, 1000)}, two, []string{"b"}},
		"nothing is expected":             {NewMix(nil), map[string]Node{"b": gpus(1000, 1000), "a": gpus(1000, 1000)}, two, []string{"a", "b"}},
		"a pod without accelerators":      {mix, map[string]Node{"full": gpus(0, 0), "free": {CPUMilli: 1000, Devices: []Device{{Layout: wholeGPU, Free: 1000}}}}, Request{CPUMilli: 1000}, []string{"full", "free"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			index := NewIndex(test.mix)
			for name, n := range test.nodes {
				index.Set(name, &n)
			}
			var got []string
			for _, c := range index.Best(&test.ask, 9, nil) {
				got = append(got, c.Name)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("order %v, want %v: %+v", got, test.want, index.Best(&test.ask, 9, nil))
			}
		})
	}
}

// TestBusyIsPaidForByTheUnit: in thousandths of a device for each unit that lands there.
func TestBusyIsPaidForByTheUnit(t *testing.T) {
	t.Parallel()
	mix := NewMix([]Item{{Request{Kind: "gpu", Count: 1, Milli: Whole}, 1}})
	for _, count := range []int32{1, 2, 3} {
		r := Request{Kind: "gpu", Count: count, Milli: Whole}
		quiet, loud := gpus(1000, 1000, 1000, 0), with(gpus(1000, 1000, 1000, 0), busy)
		f := forecastOf(mix)
		_, without, _ := f.Choose(&quiet, &r)
		_, cost, _ := f.Choose(&loud, &r)
		if got, want := Mean(cost.Price-without.Price), int64(count)*400; got != want {
			t.Errorf("%d units cost %d more, want %d", count, got, want)
		}
	}
}

// TestAnOpenedNodeCostsLittle: less than the hundredth part of a device and more than none.
func TestAnOpenedNodeCostsLittle(t *testing.T) {
	t.Parallel()
	r := Request{Kind: "gpu", Count: 1, Milli: Whole}
	f := forecastOf(NewMix([]Item{{r, 1}}))
	fresh, open := gpus(1000, 1000), gpus(1000, 0)
	_, dear, _ := f.Choose(&fresh, &r)
	_, cheap, _ := f.Choose(&open, &r)
	if got := Mean(dear.Price - cheap.Price); got != openingCost {
		t.Errorf("opening a node costs %d, want %d", got, openingCost)
	}
	none := Request{CPUMilli: 1}
	if _, cost, _ := f.Choose(&fresh, &none); cost.Price != 0 {
		t.Errorf("a pod without accelerators opens a node for %d", cost.Price)
	}
}

// TestSetSaysWhetherAnythingChanged, and keeps nothing of what it was given.
func TestSetSaysWhetherAnythingChanged(t *testing.T) {
	t.Parallel()
	index := NewIndex(NewMix(nil))
	n := gpus(1000, 500)
	steps := []struct {
		name   string
		change func()
		want   bool
	}{
		{"a new node", func() {}, true},
		{"the same again", func() {}, false},
		{"less CPU", func() { n.CPUMilli-- }, true},
		{"less memory", func() { n.MemoryMiB-- }, true},
		{"a product", func() { n.Product = "A" }, true},
		{"less of a device", func() { n.Devices[1].Free-- }, true},
		{"a worse device", func() { n.Devices[0].Tier++ }, true},
		{"a busy device", func() { n.Devices[0].Busy++ }, true},
		{"a device less", func() { n.Devices = n.Devices[:1] }, true},
		{"no device", func() { n.Devices = nil }, true},
		{"no device again", func() { n.Devices = []Device{} }, false},
		{"deleted before", func() { index.Delete("a") }, true},
	}
	for _, step := range steps {
		step.change()
		if got := index.Set("a", &n); got != step.want {
			t.Errorf("%s: changed: %t", step.name, got)
		}
		if got := index.Node("a"); got == nil || !got.equal(&n) {
			t.Errorf("%s: the index knows %+v", step.name, got)
		}
	}
	n = gpus(1000)
	index.Set("a", &n)
	n.Devices[0].Free = 0
	if got := index.Node("a").Devices[0].Free; got != 1000 {
		t.Errorf("the index has %d of what was changed after", got)
	}
	index.Best(&Request{}, 9, nil)
	index.Delete("a")
	if got := index.Best(&Request{}, 9, nil); len(got) > 0 {
		t.Errorf("a node that is gone takes what asks for nothing: %v", got)
	}
	index.Delete("b") // Nobody knows it.
	if index.Node("b") != nil {
		t.Error("a node that was never there is known")
	}
}
