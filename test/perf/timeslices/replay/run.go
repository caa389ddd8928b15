package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"wastenot.dev/test/perf/timeslices/load"
)

// Policy places pods.
type Policy interface {
	// Place answers which GPU gives the next pod a replica; false rejects it.
	Place() (gpu int, ok bool)
	// Changed tells that a GPU has other pods, or other busy ones, than before.
	Changed(gpu int)
}

// Constructor makes a policy for the GPUs, which it may read but not change.
type Constructor func(g *GPUs, seed uint64) Policy

// Experiment is what is replayed.
type Experiment struct {
	GPUs, Replicas int
	Pods           []load.Pod
	// Warm is how many of the first pods fill the GPUs and are not counted.
	Warm int
	Seed uint64
}

// Result is what came of the time after the warm pods.
type Result struct {
	Arrived, Accepted int
	// CrowdedPercent is how much of the busy pods' time another pod on the GPU was busy
	// too, MeanUsed how many GPUs had a pod on average.
	CrowdedPercent, MeanUsed float64
}

var errRefused = errors.New("a pod was rejected though a replica is free")

// event is something that happens to a pod.
type event struct {
	at   float64
	pod  int
	what int
}

const (
	leaves = iota
	flips
	arrives
)

// events lists all that happens in order; who leaves does so before anybody comes.
func events(pods []load.Pod) []event {
	var all []event
	for i := range pods {
		all = append(all, event{pods[i].Arrives, i, arrives}, event{pods[i].Leaves, i, leaves})
		for _, at := range pods[i].Flips {
			all = append(all, event{at, i, flips})
		}
	}
	slices.SortFunc(all, func(a, b event) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.what, b.what), cmp.Compare(a.pod, b.pod))
	})
	return all
}

// Run replays the pods up to the last arrival. It fails if the policy gives a wrong answer.
func Run(ctx context.Context, e *Experiment, construct Constructor) (*Result, error) {
	seen := &GPUs{Replicas: e.Replicas, Pods: make([]int, e.GPUs), Busy: make([]int, e.GPUs)}
	s := &state{Experiment: e, judge: GPUs{e.Replicas, make([]int, e.GPUs), make([]int, e.GPUs)}, seen: seen, policy: construct(seen, e.Seed)}
	s.gpu, s.busy = make([]int, len(e.Pods)), make([]bool, len(e.Pods))
	for i := range s.gpu {
		s.gpu[i] = nowhere
	}
	for _, ev := range events(e.Pods) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		s.until(ev.at)
		if err := s.happens(ev); err != nil {
			return nil, fmt.Errorf("pod %d: %w", ev.pod, err)
		}
		if ev.what == arrives && ev.pod == len(e.Pods)-1 {
			break
		}
	}
	return s.result(), nil
}
