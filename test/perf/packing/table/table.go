package table

import (
	"fmt"
	"io"
	"math"
	"text/tabwriter"
)

// Line is one workload under one policy.
type Line struct {
	Workload, Policy string
	// Percents are the allocations of the seeds, in percent of the capacity, at the
	// arrived demand that the table is about. Seeds that did not reach it have none.
	Percents []float64
	// CapacityGPUs is how many devices the cluster has.
	CapacityGPUs float64
	// Published is the published mean in percent; nil means that there is none.
	Published *float64
	// Best is the mean of the best policy that was published, in percent, nil where there
	// is none.
	Best *float64
}

// Print writes the lines below a header: the mean, its population standard deviation, how
// many devices stayed unallocated in the mean, the published mean, and ours
// less that and less the best that was published.
func Print(w io.Writer, lines []Line) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(out, "trace\tpolicy\tseeds\talloc %\tsd\tunallocated GPUs\tpublished %\tdifference\tover best published\t")
	for i := range lines {
		l := &lines[i]
		mean, sd, unallocated, published, difference, over := unknown, unknown, unknown, unknown, unknown, unknown
		if len(l.Percents) > 0 {
			m, s := spread(l.Percents)
			mean, sd = fmt.Sprintf("%.2f", m), fmt.Sprintf("%.2f", s)
			unallocated = fmt.Sprintf("%.1f", (1-m/100)*l.CapacityGPUs)
			if l.Published != nil {
				difference = fmt.Sprintf("%+.2f", m-*l.Published)
			}
			if l.Best != nil {
				over = fmt.Sprintf("%+.2f", m-*l.Best)
			}
		}
		if l.Published != nil {
			published = fmt.Sprintf("%.2f", *l.Published)
		}
		fmt.Fprintf(out, "%s\t%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t\n", l.Workload, l.Policy, len(l.Percents), mean, sd, unallocated, published, difference, over)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("printing the table: %w", err)
	}
	return nil
}

const unknown = "-"

// spread returns the mean and the population standard deviation; there is at least one value.
func spread(values []float64) (mean, sd float64) {
	for _, value := range values {
		mean += value
	}
	mean /= float64(len(values))
	for _, value := range values {
		sd += (value - mean) * (value - mean)
	}
	return mean, math.Sqrt(sd / float64(len(values)))
}
