package packing

import (
	"strings"
	"testing"
)

func TestRankSaysWhy(t *testing.T) {
	t.Parallel()
	layout := Divisible("gpu", Whole)
	half := Request{Kind: "gpu", Count: 1, Milli: 500, CPUMilli: 1000}
	whole := Request{Kind: "gpu", Count: 1, Milli: Whole, CPUMilli: 1000}
	index := NewIndex(NewMix([]Item{{half, 1}, {whole, 1}}))
	index.Set("a", &Node{CPUMilli: 16_000, MemoryMiB: 1, Devices: []Device{
		{Layout: layout, Free: 1000}, {Layout: layout, Free: 400}, {Layout: layout, Free: 500},
		{Layout: layout, Free: 500, Busy: 700}, {Layout: layout, Free: 500, Tier: 1},
	}})
	got := index.Rank("a", &half)
	var order []int
	for i := range got {
		order = append(order, got[i].Device)
		if !strings.Contains(got[i].Why, "devices for what is asked for lately") {
			t.Errorf("device %d: %q", got[i].Device, got[i].Why)
		}
	}
	// The half that is free, then breaking a whole, then the one that others work on, and
	// last the one of a worse tier; 400 thousandths are too few.
	if want := []int{2, 0, 3, 4}; !equalInts(order, want) {
		t.Fatalf("order %v, want %v: %+v", order, want, got)
	}
	if why := got[2].Why; !strings.Contains(why, "others work on it, which counts as 0.70 devices") {
		t.Errorf("a busy device: %q", why)
	}
	if why := got[3].Why; !strings.Contains(why, "tier 1") {
		t.Errorf("a worse device: %q", why)
	}
	takes, _, ok := index.Choose("a", &half)
	if !ok || len(takes) != 1 || takes[0] != got[0].Take {
		t.Errorf("Choose takes %v, Rank prefers %v", takes, got[0].Take)
	}
	if got := index.Rank("b", &half); got != nil {
		t.Errorf("a node that is not there: %v", got)
	}
}

func equalInts(a, b []int) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}
