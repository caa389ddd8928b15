package load

import "math/rand/v2"

// Pod is one pod. Times are in mean lifetimes.
type Pod struct {
	Arrives, Leaves float64
	// Flips are when it turns busy or idle, ascending and inside its life; it starts as
	// Busy says.
	Flips []float64
	Busy  bool
}

// Shape is what pods are like.
type Shape struct {
	// Offered is how many pods there would be at a time, if all were accepted.
	Offered float64
	// BusyShare is the part of its life that a pod is busy on average, Phase how long a
	// busy and the next idle phase last together. Half of the pods are calm: they are busy
	// half as much as that, and the others so much more.
	BusyShare, Phase float64
}

// Pods returns so many pods: Poisson arrivals, exponential lifetimes of mean 1 and
// exponential phases.
func Pods(s Shape, count int, seed uint64) []Pod {
	random := rand.New(rand.NewPCG(seed, 0x715)) // #nosec G404 -- a replay must be repeatable
	pods := make([]Pod, count)
	now := 0.0
	for i := range pods {
		now += random.ExpFloat64() / s.Offered
		pods[i] = s.pod(now, random)
	}
	return pods
}

func (s Shape) pod(now float64, random *rand.Rand) Pod {
	share := s.BusyShare / 2
	if random.IntN(2) == 0 {
		share = s.BusyShare * 3 / 2
	}
	p := Pod{Arrives: now, Leaves: now + random.ExpFloat64(), Busy: random.Float64() < share}
	for at, busy := now, p.Busy; ; busy = !busy {
		mean := s.Phase * (1 - share)
		if busy {
			mean = s.Phase * share
		}
		at += random.ExpFloat64() * mean
		if at >= p.Leaves {
			return p
		}
		p.Flips = append(p.Flips, at)
	}
}
