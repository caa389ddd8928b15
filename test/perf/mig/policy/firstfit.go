package policy

import (
	"slices"

	"wastenot.dev/test/perf/mig/fleet"
	"wastenot.dev/test/perf/mig/replay"
)

// firstFit takes the first GPU in order and there the first legal start: the lowest one,
// or the highest.
type firstFit struct {
	*fleet.Fleet

	last bool
}

func newFirstFit(f *fleet.Fleet, _ uint64) replay.Policy     { return &firstFit{Fleet: f} }
func newFirstFitLast(f *fleet.Fleet, _ uint64) replay.Policy { return &firstFit{f, true} }

func (*firstFit) Changed(fleet.Placement) {}

func (p *firstFit) Place(profile int) (fleet.Placement, bool) {
	for gpu := range p.GPUs() {
		if placement, ok := firstStart(p.Fleet, gpu, profile, p.last); ok {
			return placement, true
		}
	}
	return fleet.Placement{}, false
}

// firstStart is the first place for the profile on the GPU, from the end if last is set.
func firstStart(f *fleet.Fleet, gpu, profile int, last bool) (fleet.Placement, bool) {
	starts := f.Profiles[profile].Starts
	if last {
		starts = slices.Clone(starts)
		slices.Reverse(starts)
	}
	for _, start := range starts {
		if placement := (fleet.Placement{GPU: gpu, Profile: profile, Start: start}); f.Fits(placement) {
			return placement, true
		}
	}
	return fleet.Placement{}, false
}
