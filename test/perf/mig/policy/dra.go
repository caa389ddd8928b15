package policy

import (
	"math/rand/v2"

	"wastenot.dev/test/perf/mig/fleet"
	"wastenot.dev/test/perf/mig/replay"
)

// dra is a model of the stock scheduler with the devices that NVIDIA's DRA driver lists.
// The node is the one with fewest pods, as the scheduler's default score prefers the least
// allocated CPU and memory and every pod here asks for the same of them; ties are decided
// at random, as it does. On the node its allocator takes the first device in the order of
// the slices: GPU after GPU, and of a profile by ascending start.
type dra struct {
	*fleet.Fleet

	random *rand.Rand
}

func newDRA(f *fleet.Fleet, seed uint64) replay.Policy {
	return &dra{f, rand.New(rand.NewPCG(seed, 0xd2a))} // #nosec G404 -- a replay must be repeatable
}

func (*dra) Changed(fleet.Placement) {}

func (p *dra) Place(profile int) (best fleet.Placement, found bool) {
	fewest, ties := 0, 0
	for first := 0; first < p.GPUs(); first += p.PerNode {
		pods := 0
		var here fleet.Placement
		fits := false
		for gpu := first; gpu < min(first+p.PerNode, p.GPUs()); gpu++ {
			pods += p.Instances(gpu)
			if !fits {
				here, fits = firstStart(p.Fleet, gpu, profile, false)
			}
		}
		switch {
		case !fits || found && pods > fewest:
			continue
		case !found || pods < fewest:
			ties = 0
		}
		ties++
		if p.random.IntN(ties) == 0 {
			best = here
		}
		fewest, found = pods, true
	}
	return best, found
}
