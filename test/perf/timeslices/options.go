package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"

	"wastenot.dev/test/perf/seeds"
	"wastenot.dev/test/perf/timeslices/policy"
)

// options are the flags, checked.
type options struct {
	policies       []string
	loads          []int
	seeds          []uint64
	gpus, replicas int
	pods, warm     int
	busy, phase    float64
}

// maxLoad and maxGPUs keep a slip of the pen from running for days.
const maxLoad, maxGPUs, maxReplicas = 1000, 100_000, 1000

// parse returns the options; its error names every flag that is wrong.
func parse(args []string, usage io.Writer) (*options, error) {
	flags := flag.NewFlagSet("timeslices", flag.ContinueOnError)
	flags.SetOutput(usage)
	o := &options{}
	flags.IntVar(&o.gpus, "gpus", 50, "how many GPUs there are")
	flags.IntVar(&o.replicas, "replicas", 4, "how many pods may share one")
	flags.IntVar(&o.pods, "pods", 4000, "how many pods arrive and are counted")
	flags.IntVar(&o.warm, "warm", 600, "how many arrive before and are not counted")
	flags.Float64Var(&o.busy, "busy", 0.4, "part of its life that a pod is busy on average, up to 0.6")
	flags.Float64Var(&o.phase, "phase", 0.5, "how long a busy and an idle phase last together, in mean lifetimes")
	policies := flags.String("policy", strings.Join(policy.Names(), ","), "spread, pack or wastenot-N with the price N of a busy co-tenant, with commas between them")
	loads := flags.String("load", "30,60,90", "offered loads in percent of the replicas, with commas between them")
	seedRange := flags.String("seeds", "42:51", "first and last seed, or one")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	var errs []error
	if flags.NArg() > 0 {
		errs = append(errs, fmt.Errorf("unexpected argument %q: give everything by a flag", flags.Arg(0)))
	}
	errs = append(errs, o.checkNumbers()...)
	errs = append(errs, o.setPolicies(*policies), o.setLoads(*loads), o.setSeeds(*seedRange))
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return o, nil
}

// checkNumbers returns an error for each pair of numbers that cannot be run.
func (o *options) checkNumbers() []error {
	var errs []error
	if o.gpus < 1 || o.gpus > maxGPUs || o.replicas < 1 || o.replicas > maxReplicas {
		errs = append(errs, fmt.Errorf("-gpus %d, -replicas %d: give 1 to %d and 1 to %d", o.gpus, o.replicas, maxGPUs, maxReplicas))
	}
	if o.pods < 1 || o.warm < 0 {
		errs = append(errs, fmt.Errorf("-pods %d, -warm %d: give at least 1 and 0", o.pods, o.warm))
	}
	if !(o.busy > 0 && o.busy <= 0.6) || !(o.phase >= 0.001 && o.phase <= 1000) {
		errs = append(errs, fmt.Errorf("-busy %v, -phase %v: give above 0 up to 0.6, and 0.001 to 1000", o.busy, o.phase))
	}
	return errs
}

func (o *options) setPolicies(list string) error {
	for name := range strings.SplitSeq(list, ",") {
		if _, err := policy.New(name); err != nil {
			return fmt.Errorf("-policy: %w", err)
		}
		o.policies = append(o.policies, name)
	}
	return nil
}

func (o *options) setLoads(list string) error {
	for text := range strings.SplitSeq(list, ",") {
		percent, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || percent < 1 || percent > maxLoad {
			return fmt.Errorf("-load: %q is no load: give percents up to %d with commas between them, such as 30,60", text, maxLoad)
		}
		o.loads = append(o.loads, percent)
	}
	return nil
}

func (o *options) setSeeds(text string) (err error) {
	o.seeds, err = seeds.Parse(text)
	return err
}
