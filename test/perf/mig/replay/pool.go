package replay

import (
	"container/heap"

	"wastenot.dev/test/perf/mig/fleet"
)

// Pool replays the arrivals on one GPU as large as the fleet, on which an instance may be
// anywhere and in pieces: a request is accepted if the fleet has its slices left. That is
// what is left to gain by placing better (or by moving instances) without rejecting what
// fits; policies can accept more requests than it only by rejecting large ones more often.
func Pool(e *Experiment) *Result {
	m := newMeter(e)
	size, compute := e.GPUs*e.Geometry.Size, e.GPUs*e.Geometry.Compute
	var leaving departures
	for i, arrival := range e.Arrivals {
		for len(leaving) > 0 && leaving[0].at <= arrival.At {
			d := heap.Pop(&leaving).(departure)
			m.until(d.at)
			profile := &e.Geometry.Profiles[d.placement.Profile]
			size, compute = size+profile.Size, compute+profile.Compute
			m.slices -= profile.Size
		}
		m.until(arrival.At)
		m.arrived(i)
		profile := &e.Geometry.Profiles[arrival.Profile]
		if size < profile.Size || compute < profile.Compute {
			continue
		}
		size, compute = size-profile.Size, compute-profile.Compute
		m.slices += profile.Size
		m.accepted(i, arrival.Profile)
		heap.Push(&leaving, departure{arrival.Until, i, fleet.Placement{Profile: arrival.Profile}})
	}
	return m.result()
}
