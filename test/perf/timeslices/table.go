package main

import (
	"fmt"
	"io"
	"math"
	"text/tabwriter"

	"wastenot.dev/test/perf/timeslices/replay"
)

// printTable writes the lines below a header: means over the seeds, with the population
// standard deviation of the two that are compared.
func printTable(w io.Writer, lines []*line) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(out, "load %\tpolicy\tseeds\taccepted %\tcrowded %\tsd\tGPUs used\tsd\t")
	for _, l := range lines {
		accepted, _ := spread(l.results, func(r *replay.Result) float64 { return 100 * float64(r.Accepted) / float64(r.Arrived) })
		crowded, crowdedSD := spread(l.results, func(r *replay.Result) float64 { return r.CrowdedPercent })
		used, usedSD := spread(l.results, func(r *replay.Result) float64 { return r.MeanUsed })
		fmt.Fprintf(out, "%d\t%s\t%d\t%.2f\t%.1f\t%.1f\t%.1f\t%.1f\t\n", l.load, l.policy, len(l.results), accepted, crowded, crowdedSD, used, usedSD)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("printing the table: %w", err)
	}
	return nil
}

// spread returns the mean and the population standard deviation; there is a result.
func spread(results []*replay.Result, of func(*replay.Result) float64) (mean, sd float64) {
	for _, r := range results {
		mean += of(r) / float64(len(results))
	}
	for _, r := range results {
		sd += (of(r) - mean) * (of(r) - mean) / float64(len(results))
	}
	return mean, math.Sqrt(sd)
}
