package main

import (
	"context"
	"fmt"
	"io"

	"wastenot.dev/test/perf/scheduling/pairs"
	"wastenot.dev/test/perf/scheduling/workload"
)

// side is one side of the comparison.
type side string

const (
	stock side = "stock"
	ours  side = "ours"
)

// campaign is every pair of every workload.
type campaign struct {
	pairs     int
	workloads []workload.Workload
	// measure plays the workload once; pair counts from 1.
	measure  func(ctx context.Context, w workload.Workload, pair int, s side) pairs.Run
	progress io.Writer
}

// run measures until everything is or ctx ends. After each workload that it completes it
// calls done with all series so far; an error of that ends it too, and stands in the log.
func (c *campaign) run(ctx context.Context, done func([]pairs.Series) error) []pairs.Series {
	var all []pairs.Series
	for _, w := range c.workloads {
		series := c.series(ctx, w)
		if len(series.Pairs) > 0 {
			all = append(all, series)
		}
		if err := done(all); err != nil {
			fmt.Fprintf(c.progress, "keeping what was measured: %v\n", err)
			return all
		}
		if ctx.Err() != nil {
			return all
		}
	}
	return all
}

// series measures the pairs of one workload. A pair during which ctx ends is left out.
func (c *campaign) series(ctx context.Context, w workload.Workload) pairs.Series {
	series := pairs.Series{Workload: w.Name()}
	for i := range c.pairs {
		runs := map[side]pairs.Run{}
		for _, s := range order(i) {
			run := c.measure(ctx, w, i+1, s)
			if ctx.Err() != nil {
				return series
			}
			runs[s] = run
			c.report(w, i+1, s, run)
		}
		series.Pairs = append(series.Pairs, pairs.Pair{Stock: runs[stock], Ours: runs[ours]})
	}
	return series
}

// order is who goes first: each side in every other pair, so that what gets slower with
// time favours none.
func order(pair int) [2]side {
	if pair%2 == 0 {
		return [2]side{stock, ours}
	}
	return [2]side{ours, stock}
}

func (c *campaign) report(w workload.Workload, pair int, s side, run pairs.Run) {
	result := fmt.Sprintf("%.0f pods/s", run.PodsPerSecond)
	if run.Err != nil {
		result = "failed: " + run.Err.Error()
	}
	fmt.Fprintf(c.progress, "%s, pair %d of %d, %s: %s\n", w.Name(), pair, c.pairs, s, result)
}
