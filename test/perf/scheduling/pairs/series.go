package pairs

import (
	"errors"
	"slices"
)

// Run is one run of one side.
type Run struct {
	// PodsPerSecond is the mean throughput; it means nothing where Err is set.
	PodsPerSecond float64
	// Batched is the share of scheduling attempts that took a node from the batch of an
	// equal pod, from 0 to 1; nil where it is not known.
	Batched *float64
	// Err says why there is no throughput.
	Err error
}

// Pair is one run of each side.
type Pair struct{ Stock, Ours Run }

// Series are the pairs of one workload, in the order in which they were run.
type Series struct {
	Workload string
	Pairs    []Pair
}

// Summary is what a series says. Medians are over complete pairs.
type Summary struct {
	// Stock and Ours are medians in pods a second.
	Stock, Ours float64
	// Ratio is the median of ours divided by stock within each pair.
	Ratio float64
	// Interval is about the ratio; nil where there are too few pairs for any.
	Interval *Interval
	// Complete is how many pairs had two throughputs.
	Complete int
}

// errIncomplete says that a series has no complete pair.
var errIncomplete = errors.New("no pair is complete")

// Summary returns what the series says; an error where no pair is complete.
func (s Series) Summary() (Summary, error) {
	var stock, ours, ratios []float64
	for _, pair := range s.Pairs {
		if pair.Stock.Err == nil && pair.Ours.Err == nil {
			stock = append(stock, pair.Stock.PodsPerSecond)
			ours = append(ours, pair.Ours.PodsPerSecond)
			ratios = append(ratios, pair.Ours.PodsPerSecond/pair.Stock.PodsPerSecond)
		}
	}
	if len(ratios) == 0 {
		return Summary{}, errIncomplete
	}
	return Summary{
		Stock: median(stock), Ours: median(ours), Ratio: median(ratios),
		Interval: medianInterval(ratios), Complete: len(ratios),
	}, nil
}

// Failed counts the runs without a throughput.
func (s Series) Failed() int {
	failed := 0
	for _, pair := range s.Pairs {
		for _, run := range []Run{pair.Stock, pair.Ours} {
			if run.Err != nil {
				failed++
			}
		}
	}
	return failed
}

// median returns the middle of the values, or the mean of the two in the middle; there is
// at least one.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	half := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[half]
	}
	return (sorted[half-1] + sorted[half]) / 2
}
