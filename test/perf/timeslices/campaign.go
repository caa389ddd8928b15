package main

import (
	"context"
	"fmt"
	"runtime"

	"golang.org/x/sync/errgroup"

	"wastenot.dev/test/perf/timeslices/load"
	"wastenot.dev/test/perf/timeslices/policy"
	"wastenot.dev/test/perf/timeslices/replay"
)

// line is one load under one policy, with a result for each seed.
type line struct {
	load    int
	policy  string
	results []*replay.Result
}

// runAll does all runs, as many at once as there are processors, and returns the lines in
// the order of the options.
func (o *options) runAll(ctx context.Context) ([]*line, error) {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	var lines []*line
	for _, percent := range o.loads {
		for _, name := range o.policies {
			l := &line{percent, name, make([]*replay.Result, len(o.seeds))}
			lines = append(lines, l)
			for i, seed := range o.seeds {
				group.Go(func() (err error) {
					if l.results[i], err = o.one(ctx, l, seed); err != nil {
						return fmt.Errorf("running %d %%, %s, seed %d: %w", percent, name, seed, err)
					}
					return nil
				})
			}
		}
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return lines, nil
}

func (o *options) one(ctx context.Context, l *line, seed uint64) (*replay.Result, error) {
	construct, err := policy.New(l.policy)
	if err != nil {
		return nil, err
	}
	shape := load.Shape{Offered: float64(l.load*o.gpus*o.replicas) / 100, BusyShare: o.busy, Phase: o.phase}
	return replay.Run(ctx, &replay.Experiment{
		GPUs: o.gpus, Replicas: o.replicas, Pods: load.Pods(shape, o.warm+o.pods, seed), Warm: o.warm, Seed: seed,
	}, construct)
}
