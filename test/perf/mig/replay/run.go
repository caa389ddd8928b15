package replay

import (
	"container/heap"
	"context"
	"errors"
	"fmt"

	"wastenot.dev/test/perf/mig/fleet"
	"wastenot.dev/test/perf/mig/load"
)

// Policy places requests. It is told of every placement and departure, so that it can
// keep what it knows up to date.
type Policy interface {
	// Place answers where an instance of the profile goes; false rejects it.
	Place(profile int) (fleet.Placement, bool)
	// Changed tells that the policy's fleet has one instance more or less.
	Changed(fleet.Placement)
}

// Constructor makes a policy for the fleet, which it may read but not change.
type Constructor func(f *fleet.Fleet, seed uint64) Policy

// Experiment is what is replayed.
type Experiment struct {
	Geometry      *fleet.Geometry
	GPUs, PerNode int
	Arrivals      []load.Arrival
	// Warm is how many of the first arrivals fill the fleet and are not counted.
	Warm int
	Seed uint64
}

// Result is what came of the arrivals after the warm ones.
type Result struct {
	Arrived, Accepted int
	// ByProfile has the accepted ones by profile.
	ByProfile []int
	// MeanUsed is how many GPUs had an instance on average over time, MeanSlices how many
	// memory slices were taken.
	MeanUsed, MeanSlices float64
}

var errRefused = errors.New("a request was rejected that fits")

// Run replays the arrivals and returns what was accepted. It fails if the policy gives a
// wrong answer.
func Run(ctx context.Context, e *Experiment, construct Constructor) (*Result, error) {
	judge, seen := fleet.New(e.Geometry, e.GPUs, e.PerNode), fleet.New(e.Geometry, e.GPUs, e.PerNode)
	policy := construct(seen, e.Seed)
	m := newMeter(e)
	var leaving departures
	for i, arrival := range e.Arrivals {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for len(leaving) > 0 && leaving[0].at <= arrival.At {
			d := heap.Pop(&leaving).(departure)
			m.until(d.at)
			if err := errors.Join(judge.Remove(d.placement), seen.Remove(d.placement)); err != nil {
				return nil, fmt.Errorf("ending an instance: %w", err)
			}
			policy.Changed(d.placement)
			m.took(judge, d.placement.Profile, -1)
		}
		m.until(arrival.At)
		m.arrived(i)
		placement, ok := policy.Place(arrival.Profile)
		if !ok {
			if p, fits := judge.Anywhere(arrival.Profile); fits {
				return nil, fmt.Errorf("%w: arrival %d, %s on GPU %d at %d", errRefused, i, e.Geometry.Profiles[p.Profile].Name, p.GPU, p.Start)
			}
			continue
		}
		if placement.Profile != arrival.Profile {
			return nil, fmt.Errorf("arrival %d asks for profile %d and got %d", i, arrival.Profile, placement.Profile)
		}
		if err := errors.Join(judge.Place(placement), seen.Place(placement)); err != nil {
			return nil, fmt.Errorf("placing arrival %d: %w", i, err)
		}
		policy.Changed(placement)
		m.took(judge, placement.Profile, 1)
		m.accepted(i, placement.Profile)
		heap.Push(&leaving, departure{arrival.Until, i, placement})
	}
	return m.result(), nil
}

// departure is an instance that ends.
type departure struct {
	at        float64
	id        int
	placement fleet.Placement
}

// departures is a heap, the earliest first.
type departures []departure

func (d departures) Len() int { return len(d) }
func (d departures) Less(i, j int) bool {
	return d[i].at < d[j].at || d[i].at == d[j].at && d[i].id < d[j].id
}
func (d departures) Swap(i, j int) { d[i], d[j] = d[j], d[i] }
func (d *departures) Push(x any)   { *d = append(*d, x.(departure)) }
func (d *departures) Pop() any {
	last := (*d)[len(*d)-1]
	*d = (*d)[:len(*d)-1]
	return last
}
