package main

import (
	"context"
	"fmt"
	"runtime"

	"golang.org/x/sync/errgroup"

	"wastenot.dev/test/perf/mig/fleet"
	"wastenot.dev/test/perf/mig/load"
	"wastenot.dev/test/perf/mig/policy"
	"wastenot.dev/test/perf/mig/replay"
	"wastenot.dev/test/perf/mig/table"
)

// cell is one workload under one policy, with a result for each seed.
type cell struct {
	geometry, mix, policy string
	load                  int
	results               []*replay.Result
}

// runAll does all runs, as many at once as there are processors, and returns a line for
// each workload and policy in the order of the options.
func (o *options) runAll(ctx context.Context) ([]table.Line, error) {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	var cells []*cell
	for _, geometry := range o.geometries {
		for _, mix := range o.mixes {
			for _, percent := range o.loads {
				for _, name := range o.policies {
					c := &cell{geometry, mix, name, percent, make([]*replay.Result, len(o.seeds))}
					cells = append(cells, c)
					for i, seed := range o.seeds {
						group.Go(func() (err error) {
							if c.results[i], err = o.one(ctx, c, seed); err != nil {
								return fmt.Errorf("running %s, %s, %d %%, %s, seed %d: %w", geometry, mix, percent, name, seed, err)
							}
							return nil
						})
					}
				}
			}
		}
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return o.lines(cells), nil
}

func (o *options) one(ctx context.Context, c *cell, seed uint64) (*replay.Result, error) {
	geometry, err := fleet.Named(c.geometry)
	if err != nil {
		return nil, err
	}
	shares, err := load.Mix(c.mix, len(geometry.Profiles))
	if err != nil {
		return nil, err
	}
	experiment := &replay.Experiment{
		Geometry: geometry, GPUs: o.gpus, PerNode: o.perNode, Warm: o.warm, Seed: seed,
		Arrivals: load.Arrivals(geometry, shares, o.gpus, float64(c.load)/100, o.warm+o.arrivals, seed),
	}
	if c.policy == pool {
		return replay.Pool(experiment), nil
	}
	construct, err := policy.New(c.policy)
	if err != nil {
		return nil, err
	}
	return replay.Run(ctx, experiment, construct)
}

func (o *options) lines(cells []*cell) []table.Line {
	lines := make([]table.Line, 0, len(cells))
	for i, c := range cells {
		line := table.Line{Geometry: c.geometry, Mix: c.mix, LoadPercent: c.load, Policy: c.policy}
		geometry, _ := fleet.Named(c.geometry)
		for _, r := range c.results {
			line.Accepted = append(line.Accepted, float64(r.Accepted))
			line.Percents = append(line.Percents, 100*float64(r.Accepted)/float64(r.Arrived))
			line.GPUs = append(line.GPUs, r.MeanUsed)
			line.SlicePercents = append(line.SlicePercents, 100*r.MeanSlices/float64(o.gpus*geometry.Size))
		}
		// The lines of one workload stand together.
		first := i - i%len(o.policies)
		for _, other := range cells[first : first+len(o.policies)] {
			switch other.policy {
			case "firstfit":
				line.First = accepted(other)
			case "bestfit":
				line.Best = accepted(other)
			}
		}
		lines = append(lines, line)
	}
	return lines
}

func accepted(c *cell) []float64 {
	var counts []float64
	for _, r := range c.results {
		counts = append(counts, float64(r.Accepted))
	}
	return counts
}
