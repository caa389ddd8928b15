package packing

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// forecastOf expects the mix of a fleet that has room for each kind once.
func forecastOf(mix *Mix) *Forecast { return NewForecast(mix, make([]int64, len(mix.Items))) }

// TestValueDoesNotDependOnWhatWasAskedBefore: nor on the order of devices, also with more
// layouts than a word has bits.
func TestValueDoesNotDependOnWhatWasAskedBefore(t *testing.T) {
	t.Parallel()
	finer := mustLayout("finer", nil, []PartSpec{
		{Kind: "1g", Name: "1g", Milli: 125, Consumes: map[string]uint64{"slice-0": 1}}, {Kind: "2g", Name: "2g", Milli: 400, Consumes: map[string]uint64{"slice-1": 1}},
	}, 2)
	layouts := []*Layout{wholeGPU, pool, quarters, quarters, askew, askew, finer, finer, finer}
	for units := range uint64(150) {
		layouts = append(layouts, Divisible([]string{"gpu", "shared", "none"}[units%3], (units+2)*Whole/2))
	}
	for seed := range uint64(10) {
		w := newWorld(seed)
		mix := w.mix()
		nodes := make([]Node, 150)
		for i := range nodes {
			nodes[i] = w.node()
			for range 1 + w.IntN(3) {
				nodes[i].Devices = append(nodes[i].Devices, w.device(pick(w, layouts)))
			}
		}
		afresh := func() *Forecast {
			return newForecast(mix, make([]int64, len(mix.Items)), float64(seed%5)/4)
		}
		asked := afresh()
		values := make([]int64, len(nodes))
		for i := range nodes {
			values[i] = asked.Value(&nodes[i])
		}
		for _, again := range []*Forecast{asked, afresh()} {
			for _, i := range w.Perm(len(nodes)) {
				n := clone(&nodes[i])
				w.Shuffle(len(n.Devices), func(i, j int) { n.Devices[i], n.Devices[j] = n.Devices[j], n.Devices[i] })
				for d := range n.Devices { // What speaks against a device is no loss of room.
					n.Devices[d].Tier, n.Devices[d].Busy = int8(w.IntN(3)), int16(w.IntN(Whole))
				}
				if got := again.Value(n); got != values[i] {
					t.Fatalf("seed %d: node %d is worth %d and %d: %+v", seed, i, values[i], got, n)
				}
			}
		}
	}
}

// TestValueIsWhatFits: of one kind of request, every sequence is the same, so the value is
// how many fit, and CPU and memory set an end to it as devices do.
func TestValueIsWhatFits(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		request Request
		node    Node
		want    int64
	}{
		"nothing is left":           {Request{Kind: "gpu", Count: 1, Milli: Whole}, Node{Devices: []Device{{Layout: wholeGPU}, {Layout: wholeGPU}}}, 0},
		"no devices":                {Request{Kind: "gpu", Count: 1, Milli: Whole}, Node{}, 0},
		"another kind":              {Request{Kind: "gpu", Count: 1, Milli: Whole}, Node{Devices: []Device{{Layout: pool, Free: 4000}}}, 0},
		"another product":           {Request{Kind: "gpu", Count: 1, Milli: Whole, Products: "A"}, Node{Product: "B", Devices: []Device{{Layout: wholeGPU, Free: 1000}}}, 0},
		"whole devices":             {Request{Kind: "gpu", Count: 1, Milli: Whole}, Node{Devices: []Device{{Layout: wholeGPU, Free: 1000}, {Layout: wholeGPU, Free: 999}, {Layout: wholeGPU, Free: 1000}}}, 2000},
		"pairs":                     {Request{Kind: "gpu", Count: 2, Milli: Whole}, Node{Devices: []Device{{Layout: wholeGPU, Free: 1000}, {Layout: wholeGPU, Free: 1000}, {Layout: wholeGPU, Free: 1000}}}, 2000},
		"shares":                    {Request{Kind: "gpu", Count: 1, Milli: 300}, Node{Devices: []Device{{Layout: wholeGPU, Free: 1000}, {Layout: wholeGPU, Free: 700}, {Layout: wholeGPU, Free: 290}}}, 1500},
		"as far as CPU reaches":     {Request{Kind: "gpu", Count: 1, Milli: Whole, CPUMilli: 4000}, Node{CPUMilli: 7999, Devices: []Device{{Layout: wholeGPU, Free: 1000}, {Layout: wholeGPU, Free: 1000}}}, 1000},
		"as far as memory reaches":  {Request{Kind: "gpu", Count: 1, Milli: Whole, MemoryMiB: 5}, Node{MemoryMiB: 4, Devices: []Device{{Layout: wholeGPU, Free: 1000}}}, 0},
		"memory ends it":            {Request{Kind: "gpu", Count: 1, Milli: Whole, MemoryMiB: 5}, Node{MemoryMiB: 9, Devices: []Device{{Layout: wholeGPU, Free: 1000}, {Layout: wholeGPU, Free: 1000}}}, 1000},
		"memory ends parts":         {Request{Kind: "2g", Count: 1, MemoryMiB: 5}, Node{MemoryMiB: 9, Devices: []Device{{Layout: quarters, Free: quarters.Full()}}}, 500},
		"CPU ends parts":            {Request{Kind: "2g", Count: 1, CPUMilli: 5}, Node{CPUMilli: 9, Devices: []Device{{Layout: quarters, Free: quarters.Full()}}}, 500},
		"parts":                     {Request{Kind: "2g", Count: 1}, Node{Devices: []Device{{Layout: quarters, Free: quarters.Full()}, {Layout: wholeGPU, Free: 1000}}}, 1000},
		"a part that is in the way": {Request{Kind: "4g", Count: 1}, Node{Devices: []Device{taken(quarters, 0), {Layout: quarters, Free: quarters.Full()}}}, 1000},
		"more devices than counted": {Request{Kind: "gpu", Count: 1, Milli: Whole}, Node{Devices: slices.Repeat([]Device{{Layout: wholeGPU, Free: 1000}}, maxDevices+1)}, 0},
		"as many as are counted":    {Request{Kind: "gpu", Count: 1, Milli: Whole}, Node{Devices: slices.Repeat([]Device{{Layout: wholeGPU, Free: 1000}}, maxDevices)}, maxDevices * 1000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := Mean(forecastOf(NewMix([]Item{{test.request, 1}})).Value(&test.node)); got != test.want {
				t.Errorf("value %d, want %d", got, test.want)
			}
		})
	}
}

// taken is a device without the part.
func taken(l *Layout, part int) Device {
	free, _ := l.Take(l.Full(), part)
	return Device{Layout: l, Free: free}
}

// TestTakingCosts: of one kind of request nothing gains by losing room. Of several it may,
// for what no longer fits leaves its place to others: by an eighth of the node at most where
// this was tried, so a sixth is an error. No value is below zero, none above what is left of divisible devices, and a
// full node has none.
func TestTakingCosts(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		w := newWorld(seed)
		mix := w.mix()
		if len(mix.Items) == 0 {
			continue
		}
		one := NewMix([]Item{{Request{Kind: "gpu", Count: 1, Milli: int32(50 * (1 + w.IntN(20))), CPUMilli: w.Int64N(2000)}, 1}})
		for _, mix := range []*Mix{one, mix} {
			f := newForecast(mix, make([]int64, len(mix.Items)), float64(seed%5)/4)
			n := Node{Product: "A", CPUMilli: 64_000, MemoryMiB: 512 * 1024}
			for range 1 + w.IntN(8) {
				n.Devices = append(n.Devices, Device{Layout: wholeGPU, Free: Whole})
			}
			noise := Scale * Whole / 6 * int64(len(n.Devices))
			if mix == one {
				noise = 0
			}
			last := f.Value(&n)
			for last > 0 {
				d := &n.Devices[w.IntN(len(n.Devices))]
				d.Free -= min(d.Free, 50*(1+w.Uint64N(10)))
				n.CPUMilli -= min(n.CPUMilli, w.Int64N(1000))
				value := f.Value(&n)
				if value > last+noise || value < 0 || value > n.room()*Scale {
					t.Fatalf("seed %d: taking raises the value from %d to %d: %+v", seed, last, value, n)
				}
				last = value
				if n.room() == 0 && value > 0 {
					t.Fatalf("seed %d: a full node is worth %d", seed, value)
				}
			}
		}
	}
}

// TestFewPlacesMakeARequestCount: breaking into eight free devices costs the more, the fewer
// places there are for who needs eight.
func TestFewPlacesMakeARequestCount(t *testing.T) {
	t.Parallel()
	one, eight := Request{Kind: "gpu", Count: 1, Milli: Whole}, Request{Kind: "gpu", Count: 8, Milli: Whole}
	mix := NewMix([]Item{{one, 10}, {eight, 1}})
	price := func(places int64) int64 {
		n := gpus(1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000)
		_, cost, _ := NewForecast(mix, []int64{1000, places}).Choose(&n, &one)
		return Mean(cost.Price)
	}
	if many, few := price(1000), price(1); few <= many+500 {
		t.Errorf("with one place it costs %d, with a thousand %d", few, many)
	}
}

// TestTheScarceWholeNodeIsKept: one node of eight free devices among many that are in use
// is not broken into while there is room elsewhere.
func TestTheScarceWholeNodeIsKept(t *testing.T) {
	t.Parallel()
	whole := func(count int32) Request {
		return Request{Kind: "gpu", Count: count, Milli: Whole, CPUMilli: 4000 * int64(count)}
	}
	for name, mix := range map[string]*Mix{
		"many ask for eight": NewMix([]Item{{whole(1), 1}, {whole(8), 1}}),
		"few ask for eight":  NewMix([]Item{{whole(1), 50}, {whole(2), 20}, {whole(8), 1}}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			index := NewIndex(mix)
			w := newWorld(1)
			for i := range 40 {
				n := Node{CPUMilli: 192_000, MemoryMiB: 1}
				for range 8 {
					n.Devices = append(n.Devices, Device{Layout: wholeGPU, Free: Whole})
				}
				for range w.IntN(8) * min(i, 1) {
					n.Devices[w.IntN(8)].Free = 0
				}
				if i > 0 {
					n.Devices[w.IntN(8)].Free = 0
				}
				index.Set(fmt.Sprintf("node-%02d", i), &n)
			}
			for range 20 {
				r := whole(1)
				best := index.Best(&r, 1, nil)
				if len(best) != 1 || best[0].Name == "node-00" {
					t.Fatalf("one device is taken of %v", best)
				}
				takes, _, _ := index.Choose(best[0].Name, &r)
				n := clone(index.Node(best[0].Name))
				apply(t, n, &r, takes)
				index.Set(best[0].Name, n)
			}
			r := whole(8)
			if best := index.Best(&r, 9, nil); len(best) != 1 || best[0].Name != "node-00" {
				t.Errorf("eight devices are taken of %v", best)
			}
		})
	}
}

// TestAbsurdMixesAreHarmless: a mix comes over the network. Whatever it says, nothing is
// worth less than nothing, and every pod still finds the nodes that it fits.
func TestAbsurdMixesAreHarmless(t *testing.T) {
	t.Parallel()
	for seed := range uint64(25) {
		w := newWorld(seed)
		amounts := []int64{math.MinInt64, -1, 0, 1, 1000, math.MaxInt64}
		var items []Item
		for range 6 {
			items = append(items, Item{Request{
				Kind: pick(w, []string{"gpu", "gpu", "1g", "shared", ""}), Count: int32(pick(w, amounts)), Milli: int32(pick(w, amounts)),
				CPUMilli: pick(w, amounts), MemoryMiB: pick(w, amounts), Products: pick(w, []string{"", "|", "A||B"}),
			}, pick(w, amounts)})
		}
		index := NewIndex(NewMix(items))
		for i := range 6 {
			n := w.node()
			n.Devices = append(n.Devices, Device{Layout: wholeGPU, Free: Whole})
			index.Set(fmt.Sprint("node-", i), &n)
		}
		for range 4 {
			r := w.request()
			for i := range 6 {
				name := fmt.Sprint("node-", i)
				if _, ok := index.Cost(name, &r); ok != index.Node(name).Fits(&r) {
					t.Fatalf("seed %d: %+v has a cost on %+v: %t", seed, r, index.Node(name), ok)
				}
				index.foresee()
				if value := index.forecast.Value(index.Node(name)); value < 0 {
					t.Fatalf("seed %d: a node is worth %d of %+v", seed, value, items)
				}
			}
		}
	}
}
