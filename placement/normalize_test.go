package placement

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"wastenot.dev/internal/accelerator"
)

// The shipped profile's weight of our score, and the most that the stock plugins'
// preferences can add up to by the default weights of Kubernetes 1.37: 3 for taints, 2
// each for node affinity, topology spread, pod affinity and devices, 1 each for fit,
// balance, images, and one for volumes.
const (
	shippedWeight = 100
	stockSum      = (3 + 2 + 2 + 2 + 2 + 1 + 1 + 1 + 1) * 100
)

func TestNormalize(t *testing.T) {
	tests := map[string]struct{ scores, want []int64 }{
		"none":                      {},
		"one":                       {[]int64{3 * tierWidth}, []int64{99}},
		"equal":                     {[]int64{tierWidth + 5, tierWidth + 5}, []int64{39, 39}},
		"the best leads by a step":  {[]int64{3*tierWidth + 1, 3*tierWidth + 2}, []int64{98, 99}},
		"tiers stay where they are": {[]int64{0, 2 * tierWidth, 2*tierWidth + full, 3 * tierWidth}, []int64{9, 68, 69, 99}},
		"the best ten differ":       {[]int64{12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1}, []int64{9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0, 0}},
		"only the order counts":     {[]int64{10, 11, full}, []int64{7, 8, 9}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			Normalize(test.scores)
			if diff := cmp.Diff(test.want, test.scores); diff != "" {
				t.Errorf("scores (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNormalizeKeepsTiersBeyondStockPreferences(t *testing.T) {
	for seed := range uint64(2_000) {
		random := rand.New(rand.NewPCG(seed, 3))
		raw := make([]int64, random.IntN(40)+2)
		for i := range raw {
			raw[i] = random.Int64N(int64(tierCount))*tierWidth + random.Int64N(full+1)
		}
		got := append([]int64{}, raw...)
		Normalize(got)
		for i := range raw {
			if got[i] < 0 || got[i] > MaxScore {
				t.Fatalf("seed %d: %d became %d", seed, raw[i], got[i])
			}
			for j := range raw {
				if raw[i] < raw[j] && got[i] > got[j] {
					t.Fatalf("seed %d: %d < %d became %d > %d", seed, raw[i], raw[j], got[i], got[j])
				}
				if raw[i]/tierWidth < raw[j]/tierWidth && (got[j]-got[i])*shippedWeight <= stockSum {
					t.Fatalf("seed %d: a better tier leads by %d only", seed, got[j]-got[i])
				}
			}
		}
	}
}

// TestManyUnitsAreStillPacked: an instance more or less on a node of 56 is less than a
// hundredth, and decides all the same.
func TestManyUnitsAreStillPacked(t *testing.T) {
	const units, pods = 56, 20
	nodes := make([]View, 10)
	for i := range nodes {
		nodes[i] = View{Node: node(device(0)), Capacity: units, Allocatable: units}
	}
	for range pods {
		scores := make([]int64, len(nodes))
		for i := range nodes {
			scores[i] = Score(&nodes[i], accelerator.Request{Kind: accelerator.KindDevice, Count: 1}, 0)
		}
		Normalize(scores)
		best := 0
		for i := range scores {
			// What stock adds for an empty machine must not turn it.
			empty := 10 * (units - nodes[i].Requested) / units
			bestEmpty := 10 * (units - nodes[best].Requested) / units
			if scores[i]*shippedWeight+empty > scores[best]*shippedWeight+bestEmpty {
				best = i
			}
		}
		nodes[best].Requested++
	}
	used := 0
	for i := range nodes {
		if nodes[i].Requested > 0 {
			used++
		}
	}
	if used != 1 {
		t.Errorf("%d pods were spread over %d nodes", pods, used)
	}
}
