// Command scheduling compares the throughput of our scheduler profile with that of the
// stock one, in upstream's scheduler_perf: runs of both alternate, and what is reported is
// the median of the ratios of neighbours. hack/bench-scheduling.sh builds what it needs
// and starts it.
//
// It plays no workload itself: each run is a process of its own, the test binary of
// package bench, with an etcd of its own. Package workload has what is measured, package
// pairs what is made of it.
//
// Invariants: it listens on loopback only; every process that it started is gone when
// it ends; a run that failed is reported as failed.
//
// Start reading at run, then campaign.go.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"wastenot.dev/test/perf/scheduling/pairs"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "scheduling:", err)
		os.Exit(1)
	}
}

// run does what the arguments say, prints the report to out and how far it is to progress.
func run(ctx context.Context, args []string, out, progress io.Writer) error {
	opts, err := parse(args, progress)
	if err != nil {
		return err
	}
	c := &campaign{pairs: opts.pairs, workloads: opts.workloads, measure: opts.process().measure, progress: progress}
	began := time.Now()
	series := c.run(ctx, func(series []pairs.Series) error {
		return opts.save(&pairs.Report{Conditions: opts.conditions(began), Wanted: opts.pairs, Series: series})
	})
	report := &pairs.Report{Conditions: opts.conditions(began), Wanted: opts.pairs, Series: series}
	if err := report.Markdown(out); err != nil {
		return err
	}
	if err := opts.save(report); err != nil {
		return err
	}
	if failed := report.Failed(); failed > 0 {
		return fmt.Errorf("%d runs failed, their logs are below %s", failed, opts.keep)
	}
	return ctx.Err()
}
