package placement

import "wastenot.dev/internal/accelerator"

// MaxScore bounds scores from above; the least is 0.
const MaxScore = 100

// packSteps is the room for packing within one tier of health, so that no packing
// gain ever outweighs a better tier.
const packSteps = MaxScore / int64(tierCount)

// Score rates the node for the request, 0 to MaxScore-1. The node must have passed
// Check. It does not allocate.
//
// Health comes first. The kubelet may give the request any of its free devices, so
// the node is worth what the worst fit device that serves the request is worth.
// Within a tier the fuller node wins, which keeps partly used devices full and whole
// ones whole.
func Score(v *View, want accelerator.Request) int64 {
	return int64(v.worstTier(want))*packSteps + v.pack(want)
}

func (v *View) worstTier(want accelerator.Request) tier {
	if v.Node == nil {
		return tierUnknown
	}
	worst, found := tierHealthy, false
	for i := range v.Node.Devices {
		d := &v.Node.Devices[i]
		if !v.serves(d, want) || v.unfit(d) {
			continue
		}
		found = true
		worst = min(worst, tierOf(v.grade(d)))
	}
	if !found {
		return tierUnknown
	}
	return worst
}

// pack is how full the node would be, 0 to packSteps-1.
func (v *View) pack(want accelerator.Request) int64 {
	if v.Allocatable <= 0 {
		return 0
	}
	return min(packSteps-1, packSteps*(v.Requested+want.Count)/v.Allocatable)
}
