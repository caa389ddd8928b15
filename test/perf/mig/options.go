package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"wastenot.dev/test/perf/mig/fleet"
	"wastenot.dev/test/perf/mig/load"
	"wastenot.dev/test/perf/mig/policy"
	"wastenot.dev/test/perf/seeds"
)

// options are the flags, checked.
type options struct {
	geometries, mixes, policies []string
	loads                       []int
	seeds                       []uint64
	gpus, perNode               int
	arrivals, warm              int
}

// all names everything there is.
const all = "all"

// pool is the reference that is no policy.
const pool = "pool"

// maxLoad and maxGPUs keep a slip of the pen from running for days.
const maxLoad, maxGPUs = 1000, 100_000

// parse returns the options; its error names every flag that is wrong.
func parse(args []string, usage io.Writer) (*options, error) {
	flags := flag.NewFlagSet("mig", flag.ContinueOnError)
	flags.SetOutput(usage)
	o := &options{}
	flags.IntVar(&o.gpus, "gpus", 100, "how many GPUs there are")
	flags.IntVar(&o.perNode, "per-node", 1, "how many GPUs a node has")
	flags.IntVar(&o.arrivals, "arrivals", 10_000, "how many requests arrive and are counted")
	flags.IntVar(&o.warm, "warm", 1500, "how many arrive before and are not counted")
	geometries := flags.String("geometry", all, list(fleet.Geometries()))
	mixes := flags.String("mix", all, list(load.Mixes()))
	policies := flags.String("policy", all, list(append(policy.Names(), pool)))
	loads := flags.String("load", "60,80,100,120", "offered loads in percent of the memory slices, with commas between them")
	seedRange := flags.String("seeds", "42:51", "first and last seed, or one")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	var errs []error
	if flags.NArg() > 0 {
		errs = append(errs, fmt.Errorf("unexpected argument %q: give everything by a flag", flags.Arg(0)))
	}
	if o.gpus < 1 || o.gpus > maxGPUs || o.perNode < 1 || o.perNode > o.gpus {
		errs = append(errs, fmt.Errorf("-gpus %d, -per-node %d: give at least one, and no more on a node than there are or than %d", o.gpus, o.perNode, maxGPUs))
	}
	if o.arrivals < 1 || o.warm < 0 {
		errs = append(errs, fmt.Errorf("-arrivals %d, -warm %d: give at least 1 and 0", o.arrivals, o.warm))
	}
	errs = append(errs, choose(&o.geometries, "-geometry", *geometries, fleet.Geometries()), choose(&o.mixes, "-mix", *mixes, load.Mixes()),
		choose(&o.policies, "-policy", *policies, append(policy.Names(), pool)), o.setLoads(*loads), o.setSeeds(*seedRange))
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return o, nil
}

func list(names []string) string {
	return strings.Join(names, ", ") + ` with commas between them, or "all"`
}

// choose sets chosen to the names in the list, which must be known ones.
func choose(chosen *[]string, option, list string, known []string) error {
	if list == all {
		*chosen = known
		return nil
	}
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimSpace(name)
		if !slices.Contains(known, name) {
			return fmt.Errorf("%s: unknown %q: use one of %s", option, name, strings.Join(known, ", "))
		}
		if !slices.Contains(*chosen, name) {
			*chosen = append(*chosen, name)
		}
	}
	return nil
}

func (o *options) setLoads(list string) error {
	for text := range strings.SplitSeq(list, ",") {
		percent, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || percent < 1 || percent > maxLoad {
			return fmt.Errorf("-load: %q is no load: give percents up to %d with commas between them, such as 60,100", text, maxLoad)
		}
		o.loads = append(o.loads, percent)
	}
	return nil
}

func (o *options) setSeeds(text string) (err error) {
	o.seeds, err = seeds.Parse(text)
	return err
}
