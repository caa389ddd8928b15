package packing

import (
	"fmt"
	"testing"
)

// However large the fleet, rankings do not take ever more memory.
func TestRankingsShrinkWithTheFleet(t *testing.T) {
	t.Parallel()
	const nodes, want = entryLimit/20 + 1, 19
	index := NewIndex(NewMix(nil))
	for i := range nodes {
		index.Set(fmt.Sprint(i), &Node{CPUMilli: 100_000})
	}
	for i := range 2 * want {
		r := Request{CPUMilli: int64(1) << i}
		index.Best(&r, 1, nil)
	}
	if got := len(index.rankings); got != want {
		t.Errorf("%d rankings of %d nodes are kept, want %d", got, nodes, want)
	}
}
