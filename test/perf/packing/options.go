package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"wastenot.dev/test/perf/packing/policy"
	"wastenot.dev/test/perf/packing/replay"
	"wastenot.dev/test/perf/packing/trace"
	"wastenot.dev/test/perf/seeds"
)

// options are the flags, checked.
type options struct {
	dir, out  string
	traces    []string
	policies  []string
	construct map[string]replay.Constructor
	seeds     []uint64
	// faults is which share of the devices is bad at any moment; 0 is none.
	faults float64
}

// all names everything there is, in -trace and -policy.
const all = "all"

// maxFaults is the most percent of devices that may be bad.
const maxFaults = 50

// parse returns the options; its error names every flag that is wrong.
func parse(args []string, usage io.Writer) (*options, error) {
	flags := flag.NewFlagSet("packing", flag.ContinueOnError)
	flags.SetOutput(usage)
	dir := flags.String("dir", "", "folder with openb_node_list_gpu_node.csv and openb_pod_list_NAME.csv (required)")
	traces := flags.String("trace", "default", `NAMEs of pod lists with commas between them, or "all"`)
	policies := flags.String("policy", all, strings.Join(policy.Names(), ", ")+` with commas between them, or "all"`)
	seedRange := flags.String("seeds", "42:51", "first and last seed, or one")
	faults := flags.Float64("faults", 0, "percent of devices that are bad at any moment; each policy is then also run with faults, seen and unseen")
	out := flags.String("out", "", "folder for one TRACE-POLICY-SEED.csv of placements for each run; none are written without")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	opts := &options{dir: *dir, out: *out, faults: *faults / 100}
	var errs []error
	if !(*faults >= 0 && *faults <= maxFaults) {
		errs = append(errs, fmt.Errorf("-faults %v is no share: give percent from 0 to %d", *faults, maxFaults))
	}
	if flags.NArg() > 0 {
		errs = append(errs, fmt.Errorf("unexpected argument %q: give everything by a flag", flags.Arg(0)))
	}
	errs = append(errs, opts.setTraces(*traces), opts.setPolicies(*policies), opts.setSeeds(*seedRange))
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return opts, nil
}

func (o *options) setTraces(list string) error {
	if o.dir == "" {
		return errors.New("-dir is missing: give the folder of the trace")
	}
	if info, err := os.Stat(o.dir); err != nil || !info.IsDir() {
		return fmt.Errorf("-dir %q is no folder: give the folder of the trace", o.dir)
	}
	known, err := trace.Names(o.dir)
	if err != nil {
		return fmt.Errorf("-dir: %w", err)
	}
	if len(known) == 0 {
		return fmt.Errorf("-dir %q has no %s: give the folder of the trace", o.dir, trace.PodFile("", "NAME"))
	}
	o.traces = known
	if list == all {
		return nil
	}
	o.traces = unique(list)
	for _, name := range o.traces {
		if !slices.Contains(known, name) {
			return fmt.Errorf("-trace: unknown trace %q: use one of %s", name, strings.Join(known, ", "))
		}
	}
	return nil
}

func (o *options) setPolicies(list string) error {
	o.policies = policy.Names()
	if list != all {
		o.policies = unique(list)
	}
	o.construct = map[string]replay.Constructor{}
	for _, name := range o.policies {
		construct, err := policy.New(name)
		if err != nil {
			return fmt.Errorf("-policy: %w", err)
		}
		o.construct[name] = construct
	}
	return nil
}

func (o *options) setSeeds(text string) (err error) {
	o.seeds, err = seeds.Parse(text)
	return err
}

// unique splits the list at commas and drops what is named again.
func unique(list string) []string {
	var names []string
	for name := range strings.SplitSeq(list, ",") {
		if name = strings.TrimSpace(name); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
