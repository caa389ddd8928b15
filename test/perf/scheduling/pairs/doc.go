// Package pairs compares two schedulers by pairs of runs that were made one right after
// the other.
//
// It provides the median of the ratios of the pairs with an interval, and the report as
// Markdown. It runs nothing. What is disturbed for some minutes disturbs both runs of a
// pair, so ratios are compared and not sums; and medians, since one bad run must not
// decide.
//
// The command calls it. Invariant: a run that failed is reported as failed; it is no
// throughput of 0, and its pair counts for nothing.
//
// Start reading at Series, then Summary.
package pairs
