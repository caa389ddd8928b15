package policy

import (
	"wastenot.dev/test/perf/mig/fleet"
	"wastenot.dev/test/perf/mig/replay"
)

// bestFit takes the GPU on which fewest memory slices are left, the first of several, and
// there the first legal start.
type bestFit struct{ *fleet.Fleet }

func newBestFit(f *fleet.Fleet, _ uint64) replay.Policy { return &bestFit{f} }

func (*bestFit) Changed(fleet.Placement) {}

func (p *bestFit) Place(profile int) (best fleet.Placement, found bool) {
	for gpu := range p.GPUs() {
		if found && p.FreeSlices(gpu) >= p.FreeSlices(best.GPU) {
			continue
		}
		if placement, ok := firstStart(p.Fleet, gpu, profile, false); ok {
			best, found = placement, true
		}
	}
	return best, found
}
