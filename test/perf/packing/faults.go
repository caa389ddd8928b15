package main

import (
	"context"
	"fmt"
	"io"
	"runtime"

	"golang.org/x/sync/errgroup"

	"wastenot.dev/test/perf/packing/replay"
	"wastenot.dev/test/perf/packing/table"
	"wastenot.dev/test/perf/packing/trace"
)

// faultDuration is how long a fault lasts in the mean, in arrivals: about an eighth of the
// default list.
const faultDuration = 1500

// printFaults runs each trace and policy under faults, seen and unseen, beside the run
// without, and prints what avoiding them costs.
func (c *campaign) printFaults(ctx context.Context, out io.Writer) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	var lines []*table.FaultLine
	for _, name := range c.traces {
		for _, policy := range c.policies {
			line := &table.FaultLine{Workload: name, Policy: policy, Runs: make([]table.FaultRun, len(c.seeds))}
			lines = append(lines, line)
			for i, seed := range c.seeds {
				group.Go(func() (err error) {
					if line.Runs[i], err = c.faultRun(ctx, name, policy, seed); err != nil {
						return fmt.Errorf("running %s, %s, seed %d with faults: %w", name, policy, seed, err)
					}
					return nil
				})
			}
		}
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return table.PrintFaults(out, lines)
}

func (c *campaign) faultRun(ctx context.Context, name, policy string, seed uint64) (table.FaultRun, error) {
	arrivals, err := trace.Tune(c.pods[name], seed, demandRatio, trace.CapacityMilli(c.nodes))
	if err != nil {
		return table.FaultRun{}, err
	}
	faults := replay.DrawFaults(replay.NewCluster(c.nodes, nil), len(arrivals), c.faults, faultDuration, seed)
	var results [3]*replay.Result
	for i, e := range []replay.Experiment{{}, {Faults: faults, Blind: true}, {Faults: faults}} {
		e.Nodes, e.Workload, e.Arrivals, e.Seed = c.nodes, c.pods[name], arrivals, seed
		if results[i], err = replay.Run(ctx, &e, c.construct[policy]); err != nil {
			return table.FaultRun{}, err
		}
	}
	percent := func(part, whole int64) float64 { return 100 * float64(part) / float64(whole) }
	without, blind, seen := results[0], results[1], results[2]
	return table.FaultRun{
		Faults:         len(faults),
		Without:        percent(without.AllocatedMilli, without.CapacityMilli),
		OnBadUnseen:    blind.OnBadDevices,
		OnBadSeen:      seen.OnBadDevices,
		HealthyPercent: percent(seen.HealthyAllocatedMilli, seen.HealthyMilli),
	}, nil
}
