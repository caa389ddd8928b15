package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"wastenot.dev/test/perf/scheduling/pairs"
	"wastenot.dev/test/perf/scheduling/workload"
)

// options are the flags, checked.
type options struct {
	binary, dir, etcd    string
	kubernetes, revision string
	keep, out, ours      string
	pairs                int
	timeout              time.Duration
	short                bool
	workloads            []workload.Workload
}

// maxPairs keeps a slip of the pen from running for days.
const maxPairs = 100

// parse returns the options; its error names every flag that is wrong.
func parse(args []string, usage io.Writer) (*options, error) {
	flags := flag.NewFlagSet("scheduling", flag.ContinueOnError)
	flags.SetOutput(usage)
	o := &options{}
	flags.StringVar(&o.binary, "binary", "", "test binary of package bench (required)")
	flags.StringVar(&o.dir, "dir", "", "folder of package bench, with its testdata (required)")
	flags.StringVar(&o.etcd, "etcd", "", "folder that holds etcd (required)")
	flags.StringVar(&o.kubernetes, "kubernetes", "unknown", "version of Kubernetes, for the report")
	flags.StringVar(&o.revision, "revision", "unknown", "revision of this repository, for the report")
	flags.StringVar(&o.keep, "keep", filepath.Join(".bench", "scheduling"), "folder for the measurements of each run and the logs of those that fail")
	flags.StringVar(&o.out, "out", "", "file for the report as Markdown; it is also printed")
	flags.StringVar(&o.ours, "ours", "ours", "our profile: ours, or blind, which has no telemetry")
	flags.IntVar(&o.pairs, "pairs", 7, "pairs of runs of each workload")
	flags.DurationVar(&o.timeout, "timeout", 15*time.Minute, "longest time for one run")
	flags.BoolVar(&o.short, "short", false, "one pair of few workloads at tiny sizes, which only shows that everything works")
	pattern := flags.String("workload", "", "regular expression of workloads, part of KIND-NODES/CONSTRAINTS; all that are not long by default")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	return o, o.check(flags, *pattern)
}

func (o *options) check(flags *flag.FlagSet, pattern string) error {
	var errs []error
	if flags.NArg() > 0 {
		errs = append(errs, fmt.Errorf("unexpected argument %q: give everything by a flag", flags.Arg(0)))
	}
	for name, path := range map[string]*string{"binary": &o.binary, "dir": &o.dir, "etcd": &o.etcd} {
		absolute, err := filepath.Abs(*path) // The runs have another working directory.
		if err != nil || *path == "" {
			errs = append(errs, fmt.Errorf("-%s is missing: hack/bench-scheduling.sh gives it", name))
		}
		*path = absolute
	}
	if o.pairs < 1 || o.pairs > maxPairs {
		errs = append(errs, fmt.Errorf("-pairs is %d: give 1 to %d", o.pairs, maxPairs))
	}
	if o.ours != "ours" && o.ours != "blind" {
		errs = append(errs, fmt.Errorf("-ours is %q: give ours or blind", o.ours))
	}
	var err error
	if o.workloads, err = workload.Select(pattern, o.short); err != nil {
		errs = append(errs, fmt.Errorf("-workload: %w", err))
	}
	if o.short {
		o.shorten(flags)
	}
	return errors.Join(errs...)
}

// shorten takes the small sizes, and one pair unless more were asked for.
func (o *options) shorten(flags *flag.FlagSet) {
	for i := range o.workloads {
		o.workloads[i] = o.workloads[i].Short()
	}
	asked := false
	flags.Visit(func(f *flag.Flag) { asked = asked || f.Name == "pairs" })
	if !asked {
		o.pairs = 1
	}
}

// save writes the report to the file that was asked for, if any.
func (o *options) save(report *pairs.Report) error {
	if o.out == "" {
		return nil
	}
	file, err := os.Create(o.out)
	if err != nil {
		return fmt.Errorf("making the report: %w", err)
	}
	return errors.Join(report.Markdown(file), file.Close())
}
