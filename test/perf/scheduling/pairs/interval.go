package pairs

import (
	"math"
	"slices"
)

// wantConfidence is the least confidence of an interval, where the values suffice for it.
const wantConfidence = 0.95

// Interval holds the median of all pairs that could be run, with the confidence.
type Interval struct {
	Low, High float64
	// Confidence is from 0 to 1.
	Confidence float64
}

// medianInterval returns the distribution-free interval of the median between two order
// statistics: each value lies below the median with probability 1/2, so that of n sorted
// values the k-th from below and from above miss it with 2 P(Binomial(n, 1/2) < k).
// (Conover, Practical Nonparametric Statistics, 3rd edition, 3.2.)
//
// It takes the narrowest interval of at least wantConfidence, else the widest; nil for
// fewer than two values. With seven values it reaches from the least to the greatest, at
// 98.4 %.
func medianInterval(values []float64) *Interval {
	n := len(values)
	if n < 2 {
		return nil
	}
	sorted := slices.Sorted(slices.Values(values))
	k, confidence := 1, 1-2*below(n, 1)
	for next := 2; next <= n/2; next++ {
		narrower := 1 - 2*below(n, next)
		if narrower < wantConfidence {
			break
		}
		k, confidence = next, narrower
	}
	return &Interval{Low: sorted[k-1], High: sorted[n-k], Confidence: confidence}
}

// below is P(Binomial(n, 1/2) < k).
func below(n, k int) float64 {
	sum, choose := 0.0, 1.0 // n choose i
	for i := range k {
		sum += choose
		choose = choose * float64(n-i) / float64(i+1)
	}
	return sum * math.Pow(0.5, float64(n))
}
