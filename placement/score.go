package placement

import (
	"slices"

	"wastenot.dev/internal/accelerator"
)

// The packing part of a score, from 0 to full: what is lost counts in lostUnits, and how
// full the node is decides between equal losses, for it is always less than one.
const (
	full     = 1 << 44
	lostUnit = 1 << 20
)

// tierWidth keeps the tiers of health apart whatever the packing.
const tierWidth = 2 * full

// Score rates the node for the request; scores compare, and Normalize brings them into
// a scheduler's range. The node must have passed Check. It does not allocate.
//
// Health comes first. The kubelet may give the request any of its free devices, so
// the node is worth what the worst fit device that serves the request is worth.
// Within a tier the node wins that loses least for the requests to come: lost is what
// package packing says of that, in thousandths of a device, 0 where it says nothing.
// Where two lose the same, the fuller one wins.
func Score(v *View, want accelerator.Request, lost int64) int64 {
	return int64(v.worstTier(want))*tierWidth + pack(lost) + v.fullness(want)
}

// ScoreAt is the score of the node at the position, from 0, of a list of nodes from best
// to worst, whose Tier is known.
func ScoreAt(worse int8, position int) int64 {
	return int64(max(tierHealthy-tier(worse), 0))*tierWidth + pack(int64(position))
}

// What Normalize makes of scores: MaxScore is the most, tierStep lies between the best of
// one tier and the best of the next, and packSteps is how many scores a tier has.
const (
	MaxScore  = 100
	tierStep  = 30
	packSteps = 10
)

// Normalize replaces scores of one request by 0 to MaxScore, keeping their order. By how
// much a node is better than the next says little about how much the other plugins should
// be overruled for it, so only the order counts within a tier: each step down to the ninth
// is one less, so that the second is never tied with the third where the scheduler gives
// the next equal pod what it kept of this one's scores. Tiers stay where they are, so that
// a fleet of equally bad nodes is not stretched into good and bad ones.
func Normalize(scores []int64) {
	var levels [tierCount][]int64
	for _, score := range scores {
		levels[score/tierWidth] = append(levels[score/tierWidth], score)
	}
	for t := range levels {
		slices.Sort(levels[t])
		levels[t] = slices.Compact(levels[t])
	}
	for i, score := range scores {
		level := levels[score/tierWidth]
		rank, _ := slices.BinarySearch(level, score)
		behind := len(level) - 1 - rank
		scores[i] = score/tierWidth*tierStep + int64(max(packSteps-1-behind, 0))
	}
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

func pack(lost int64) int64 {
	const most = full/2/lostUnit - 1
	return full/2 - min(max(lost, -most), most)*lostUnit
}

// fullness is how full the node would be, from 0 to less than lostUnit.
func (v *View) fullness(want accelerator.Request) int64 {
	used := v.Requested + want.Count
	if v.Allocatable <= 0 || used <= 0 {
		return 0
	}
	return int64((lostUnit - 1) * min(1, float64(used)/float64(v.Allocatable)))
}
