package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sync/errgroup"

	"wastenot.dev/test/perf/packing/replay"
	"wastenot.dev/test/perf/packing/table"
	"wastenot.dev/test/perf/packing/trace"
)

const (
	// demandRatio is how much of the capacity the arrivals ask for.
	demandRatio = 1.3
	// demandPercent is the same, as the sample that the table shows.
	demandPercent = 130
	// bestPublished is the policy that allocates most in the published results.
	bestPublished = "fgd"
)

// campaign is every run that the options ask for, with what was read for them.
type campaign struct {
	*options

	nodes     []trace.Node
	pods      map[string][]trace.Pod // by trace
	published *trace.Published
}

// load reads all files, so that a bad one is found before the first run.
func load(opts *options) (*campaign, error) {
	c := &campaign{options: opts, pods: map[string][]trace.Pod{}}
	var errs []error
	var err error
	if c.nodes, err = trace.ReadNodes(trace.NodeFile(opts.dir)); err != nil {
		errs = append(errs, err)
	} else if trace.CapacityMilli(c.nodes) == 0 {
		errs = append(errs, fmt.Errorf("reading %s: no node has a device; give nodes with gpu above 0", trace.NodeFile(opts.dir)))
	}
	for _, name := range opts.traces {
		if c.pods[name], err = trace.ReadPods(trace.PodFile(opts.dir, name)); err != nil {
			errs = append(errs, err)
		}
	}
	if c.published, err = trace.ReadPublished(trace.PublishedFile(opts.dir)); err != nil {
		errs = append(errs, err)
	}
	if opts.out != "" {
		if err := os.MkdirAll(opts.out, 0o755); err != nil { //nolint:gosec // results for people to read
			errs = append(errs, fmt.Errorf("making the folder of -out: %w", err))
		}
	}
	return c, errors.Join(errs...)
}

// run does all runs, as many at once as there are processors, and returns a line for each
// trace and policy in the order of the options.
func (c *campaign) run(ctx context.Context) ([]table.Line, error) {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	var results [][]*replay.Result // by line and seed
	for _, name := range c.traces {
		for _, policy := range c.policies {
			seeds := make([]*replay.Result, len(c.seeds))
			results = append(results, seeds)
			for i, seed := range c.seeds {
				group.Go(func() (err error) {
					if seeds[i], err = c.one(ctx, name, policy, seed); err != nil {
						return fmt.Errorf("running %s, %s, seed %d: %w", name, policy, seed, err)
					}
					return nil
				})
			}
		}
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return c.lines(results), nil
}

// one does one run, and writes its placements if there is a folder for them.
func (c *campaign) one(ctx context.Context, name, policy string, seed uint64) (*replay.Result, error) {
	arrivals, err := trace.Tune(c.pods[name], seed, demandRatio, trace.CapacityMilli(c.nodes))
	if err != nil {
		return nil, err
	}
	result, err := replay.Run(ctx, &replay.Experiment{Nodes: c.nodes, Workload: c.pods[name], Arrivals: arrivals, Seed: seed}, c.construct[policy])
	if err != nil {
		return nil, err
	}
	if c.out == "" {
		return result, nil
	}
	return result, write(filepath.Join(c.out, fmt.Sprintf("%s-%s-%d.csv", name, policy, seed)), result)
}

func write(path string, result *replay.Result) error {
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("creating a file of placements: %w", err)
	}
	return errors.Join(result.WriteCSV(file), file.Close())
}

func (c *campaign) lines(results [][]*replay.Result) []table.Line {
	lines := make([]table.Line, 0, len(results))
	for i, seeds := range results {
		line := table.Line{Workload: c.traces[i/len(c.policies)], Policy: c.policies[i%len(c.policies)]}
		line.CapacityGPUs = float64(trace.CapacityMilli(c.nodes)) / trace.WholeMilli
		for _, result := range seeds {
			if percent, ok := result.AllocatedPercent(demandPercent); ok {
				line.Percents = append(line.Percents, percent)
			}
		}
		if mean, ok := c.published.Mean(line.Workload, line.Policy); ok {
			line.Published = &mean
		}
		if best, ok := c.published.Mean(line.Workload, bestPublished); ok {
			line.Best = &best
		}
		lines = append(lines, line)
	}
	return lines
}
