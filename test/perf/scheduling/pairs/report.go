package pairs

import (
	"fmt"
	"io"
	"strings"
)

// Report is what was measured and where.
type Report struct {
	// Conditions are lines such as "2 cores".
	Conditions []string
	// Wanted is how many pairs each series should have.
	Wanted int
	Series []Series
}

// Failed counts the runs without a throughput.
func (r *Report) Failed() int {
	failed := 0
	for _, s := range r.Series {
		failed += s.Failed()
	}
	return failed
}

// Markdown writes the conditions, the table, what failed, and every run.
func (r *Report) Markdown(w io.Writer) error {
	var out strings.Builder
	for _, condition := range r.Conditions {
		fmt.Fprintf(&out, "* %s\n", condition)
	}
	out.WriteString("\n| workload | stock pods/s | ours pods/s | ours/stock | interval | batched stock/ours | pairs |\n")
	out.WriteString("|---|---|---|---|---|---|---|\n")
	for _, s := range r.Series {
		out.WriteString(r.row(s))
	}
	for _, s := range r.Series {
		out.WriteString(failures(s))
	}
	out.WriteString("\nAll runs, in pods/s, stock/ours in the order of the pairs:\n\n")
	for _, s := range r.Series {
		runs := make([]string, len(s.Pairs))
		for i, pair := range s.Pairs {
			runs[i] = text(pair.Stock) + "/" + text(pair.Ours)
		}
		fmt.Fprintf(&out, "* %s: %s\n", s.Workload, strings.Join(runs, ", "))
	}
	if _, err := io.WriteString(w, out.String()); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}

// row is a line of the table.
func (r *Report) row(s Series) string {
	summary, err := s.Summary()
	if err != nil {
		return fmt.Sprintf("| %s | %s | %s | %s | %s | %s | 0 of %d |\n", s.Workload, failed, failed, failed, unknown, unknown, r.Wanted)
	}
	interval := unknown
	if i := summary.Interval; i != nil {
		interval = fmt.Sprintf("%.2f to %.2f (%.1f %%)", i.Low, i.High, 100*i.Confidence)
	}
	return fmt.Sprintf("| %s | %.0f | %.0f | %.2f | %s | %s | %d of %d |\n",
		s.Workload, summary.Stock, summary.Ours, summary.Ratio, interval, batched(s), summary.Complete, r.Wanted)
}

const (
	failed  = "failed"
	unknown = "-"
)

// batched is the median share of both sides.
func batched(s Series) string {
	var stock, ours []float64
	for _, pair := range s.Pairs {
		if pair.Stock.Batched != nil {
			stock = append(stock, *pair.Stock.Batched)
		}
		if pair.Ours.Batched != nil {
			ours = append(ours, *pair.Ours.Batched)
		}
	}
	share := func(values []float64) string {
		if len(values) == 0 {
			return unknown
		}
		return fmt.Sprintf("%.0f %%", 100*median(values))
	}
	return share(stock) + " / " + share(ours)
}

// failures is a line for each run that failed.
func failures(s Series) string {
	var lines strings.Builder
	for i, pair := range s.Pairs {
		for _, side := range []struct {
			name string
			run  Run
		}{{"stock", pair.Stock}, {"ours", pair.Ours}} {
			if side.run.Err != nil {
				fmt.Fprintf(&lines, "\nFailed: %s, pair %d, %s: %v\n", s.Workload, i+1, side.name, side.run.Err)
			}
		}
	}
	return lines.String()
}

func text(run Run) string {
	if run.Err != nil {
		return failed
	}
	return fmt.Sprintf("%.0f", run.PodsPerSecond)
}
