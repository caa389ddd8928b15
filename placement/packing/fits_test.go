package packing

import (
	"slices"
	"testing"
)

// TestFitsIsWhatTryingEverythingSays: exactly so for one unit and for parts that do not
// overlap askew, as those of MIG; otherwise Fits may overlook a place, but never says yes
// where there is none.
func TestFitsIsWhatTryingEverythingSays(t *testing.T) {
	t.Parallel()
	fitting := 0
	for seed := range uint64(20_000) {
		w := newWorld(seed)
		n, r := w.node(), w.request()
		machine := n.CPUMilli >= r.CPUMilli && n.MemoryMiB >= r.MemoryMiB &&
			(r.Products == "" || (r.Products == "A" && n.Product == "A") || (r.Products == "A|B" && n.Product != ""))
		want := machine && possible(slices.Clone(n.Devices), &r, r.Count)
		got := n.Fits(&r)
		inexact := r.Kind == "odd" && r.Count > 1
		if got != want && (got || !inexact) {
			t.Fatalf("seed %d: Fits says %t: %+v on %+v", seed, got, r, n)
		}
		if got {
			fitting++
		}
	}
	if fitting < 1000 {
		t.Errorf("only %d requests fit, which proves little", fitting)
	}
}

// TestWhatFitsIsPlacedLegally: where a request fits, Choose places all of its units.
func TestWhatFitsIsPlacedLegally(t *testing.T) {
	t.Parallel()
	var f *Forecast
	for seed := range uint64(6_000) {
		w := newWorld(seed)
		if seed%100 == 0 {
			mix := w.mix()
			places := make([]int64, len(mix.Items))
			for i := range places {
				places[i] = w.Int64N(100)
			}
			f = NewForecast(mix, places)
		}
		n, r := w.node(), w.request()
		before := clone(&n)
		takes, cost, ok := f.Choose(&n, &r)
		if !n.equal(before) {
			t.Fatalf("seed %d: the node was changed", seed)
		}
		if ok != n.Fits(&r) {
			t.Fatalf("seed %d: chosen: %t, Fits: %t, %+v on %+v", seed, ok, !ok, r, n)
		}
		if !ok {
			if len(takes) != 0 || cost != (Cost{}) {
				t.Fatalf("seed %d: what does not fit gets %v at %+v", seed, takes, cost)
			}
			continue
		}
		apply(t, &n, &r, takes)
		var tier int8
		for _, take := range takes {
			tier = max(tier, n.Devices[take.Device].Tier)
		}
		if cost.Tier != tier {
			t.Fatalf("seed %d: tier %d, want the worst, %d", seed, cost.Tier, tier)
		}
	}
}

// TestChooseDoesNotPaintItselfIntoACorner: two units fit only if the first does not take
// the middle, whatever the first would rather leave.
func TestChooseDoesNotPaintItselfIntoACorner(t *testing.T) {
	t.Parallel()
	corner := mustLayout("corner", nil, []PartSpec{placed("pair", 0, 2), placed("pair", 1, 2), placed("pair", 2, 2), placed("edge", 0, 1), placed("edge", 3, 1)}, 4)
	n := Node{Devices: []Device{{Layout: corner, Free: corner.Full()}}}
	index := NewIndex(NewMix([]Item{{Request{Kind: "edge", Count: 1}, 100}, {Request{Kind: "pair", Count: 1}, 1}}))
	index.Set("a", &n)
	one, two := Request{Kind: "pair", Count: 1}, Request{Kind: "pair", Count: 2}
	if takes, _, ok := index.Choose("a", &one); !ok || takes[0].Part != 1 {
		t.Fatalf("one takes %v; it should take the middle and leave both edges, or this test shows nothing", takes)
	}
	if got := index.Best(&two, 1, nil); len(got) != 1 {
		t.Errorf("two fit, and Best returns %v", got)
	}
	takes, _, ok := index.Choose("a", &two)
	if !ok {
		t.Fatal("two fit, and Choose returns none")
	}
	apply(t, clone(&n), &two, takes)

	// The worst device counts then, too, wherever it stands.
	n.Devices = append([]Device{{Layout: corner, Free: taken(corner, 0).Free, Tier: 2}}, n.Devices...)
	index.Set("a", &n)
	three := Request{Kind: "pair", Count: 3}
	takes, cost, ok := index.Choose("a", &three)
	if !ok || cost.Tier != 2 {
		t.Fatalf("three cost %+v, %t", cost, ok)
	}
	apply(t, &n, &three, takes)
}
