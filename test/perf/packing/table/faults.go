package table

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// FaultLine is one workload under one policy while devices turn bad and good.
type FaultLine struct {
	Workload, Policy string
	// Runs has one entry for each seed.
	Runs []FaultRun
}

// FaultRun is one seed, run without faults, with faults that the policy cannot see, and
// with the same faults seen.
type FaultRun struct {
	// Faults counts how often a device turned bad.
	Faults int
	// Without is the allocation without faults, in percent of the capacity.
	Without float64
	// OnBadUnseen and OnBadSeen count the pods that got a device that was bad.
	OnBadUnseen, OnBadSeen int
	// HealthyPercent is what of the devices that are good in the end is given out, where
	// faults are seen.
	HealthyPercent float64
}

// PrintFaults writes the means over the seeds, and what the allocation of good devices
// loses against the run without faults.
func PrintFaults(w io.Writer, lines []*FaultLine) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(out, "trace\tpolicy\tseeds\tfaults\talloc % without\tpods on bad, unseen\tpods on bad, seen\talloc % of good\tlost to avoidance\t")
	for _, line := range lines {
		var faults, without, unseen, seen, healthy float64
		for i := range line.Runs {
			r := &line.Runs[i]
			faults += float64(r.Faults)
			without += r.Without
			unseen += float64(r.OnBadUnseen)
			seen += float64(r.OnBadSeen)
			healthy += r.HealthyPercent
		}
		n := float64(len(line.Runs))
		fmt.Fprintf(out, "%s\t%s\t%d\t%.0f\t%.2f\t%.1f\t%.1f\t%.2f\t%+.2f\t\n", line.Workload, line.Policy, len(line.Runs),
			faults/n, without/n, unseen/n, seen/n, healthy/n, without/n-healthy/n)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("printing the table of faults: %w", err)
	}
	return nil
}
