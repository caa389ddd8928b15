package table

import (
	"fmt"
	"io"
	"math"
	"text/tabwriter"
)

// Line is one policy under one workload.
type Line struct {
	Geometry, Mix string
	// LoadPercent is the offered load, in percent of the memory slices.
	LoadPercent int
	Policy      string
	// Accepted are the requests that the seeds accepted, Percents the same in percent of
	// those that arrived, GPUs how many were used on average, SlicePercents how much of the
	// memory slices was taken on average.
	Accepted, Percents, GPUs, SlicePercents []float64
	// First and Best are what first fit and best fit accepted, nil if they did not run.
	First, Best []float64
}

// Print writes the lines below a header: means over the seeds and, for the requests
// accepted, the population standard deviation; last by how much that mean is above first
// fit's and best fit's.
func Print(w io.Writer, lines []Line) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(out, "geometry\tmix\tload %\tpolicy\tseeds\taccepted\tsd\taccepted %\tGPUs used\tslices %\tover first fit %\tover best fit %\t")
	for i := range lines {
		l := &lines[i]
		accepted, sd := spread(l.Accepted)
		percent, _ := spread(l.Percents)
		gpus, _ := spread(l.GPUs)
		slices, _ := spread(l.SlicePercents)
		used := fmt.Sprintf("%.1f", gpus)
		if gpus == 0 {
			used = unknown
		}
		fmt.Fprintf(out, "%s\t%s\t%d\t%s\t%d\t%.0f\t%.0f\t%.2f\t%s\t%.1f\t%s\t%s\t\n", l.Geometry, l.Mix, l.LoadPercent, l.Policy,
			len(l.Accepted), accepted, sd, percent, used, slices, over(accepted, l.First), over(accepted, l.Best))
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("printing the table: %w", err)
	}
	return nil
}

const unknown = "-"

// over is by how many percent accepted is above the others' mean.
func over(accepted float64, others []float64) string {
	mean, _ := spread(others)
	if mean == 0 {
		return unknown
	}
	return fmt.Sprintf("%+.2f", 100*(accepted/mean-1))
}

// spread returns the mean and the population standard deviation, 0 of nothing.
func spread(values []float64) (mean, sd float64) {
	if len(values) == 0 {
		return 0, 0
	}
	for _, value := range values {
		mean += value
	}
	mean /= float64(len(values))
	for _, value := range values {
		sd += (value - mean) * (value - mean)
	}
	return mean, math.Sqrt(sd / float64(len(values)))
}
