package policy

import (
	"fmt"

	"wastenot.dev/placement/packing"
	"wastenot.dev/test/perf/mig/fleet"
	"wastenot.dev/test/perf/mig/replay"
)

// halfLife is after how many requests what was learnt counts half.
const halfLife = 4096

// wastenot places instances by package packing. It knows nothing of the workload
// beforehand: the mix is learnt from what has arrived.
type wastenot struct {
	*fleet.Fleet

	index   *packing.Index
	learner *packing.Learner
	layout  *packing.Layout
	// free is what packing says is left of each GPU.
	free []uint64
	// parts has for each profile the part at each start, -1 where there is none.
	parts [][]int
	nodes map[string]int
}

func newWastenot(f *fleet.Fleet, _ uint64) replay.Policy {
	learner := packing.NewLearner(halfLife, nil)
	w := &wastenot{Fleet: f, learner: learner, index: packing.NewIndex(learner.Mix()), nodes: map[string]int{}}
	w.layout, _ = packing.MIG(f.Product)
	for i := range f.Profiles {
		starts := make([]int, f.Size)
		for start := range starts {
			starts[start] = -1
			for part := range w.layout.Parts() {
				if w.layout.Parts()[part].Name == fmt.Sprintf("%s@%d", f.Profiles[i].Name, start) {
					starts[start] = part
				}
			}
		}
		w.parts = append(w.parts, starts)
	}
	for range f.GPUs() {
		w.free = append(w.free, w.layout.Full())
	}
	for gpu := 0; gpu < f.GPUs(); gpu += f.PerNode {
		w.nodes[nodeName(gpu/f.PerNode)] = gpu / f.PerNode
		w.tell(gpu / f.PerNode)
	}
	return w
}

func nodeName(i int) string { return fmt.Sprintf("node-%04d", i) }

// tell brings the index up to date on the node.
func (w *wastenot) tell(node int) {
	state := packing.Node{Product: w.Product}
	for gpu := node * w.PerNode; gpu < min((node+1)*w.PerNode, w.GPUs()); gpu++ {
		state.Devices = append(state.Devices, packing.Device{Layout: w.layout, Free: w.free[gpu]})
	}
	w.index.Set(nodeName(node), &state)
}

// Changed tells the index. Whether the instance came or went is seen from the fleet: a
// place that is free is one that it left.
func (w *wastenot) Changed(p fleet.Placement) {
	part := w.parts[p.Profile][p.Start]
	if w.Fits(p) {
		w.free[p.GPU] = w.layout.Give(w.free[p.GPU], part)
	} else {
		w.free[p.GPU], _ = w.layout.Take(w.free[p.GPU], part)
	}
	w.tell(p.GPU / w.PerNode)
}

func (w *wastenot) Place(profile int) (fleet.Placement, bool) {
	request := packing.Request{Kind: w.Profiles[profile].Name, Count: 1}
	w.learner.Observe(request)
	if w.learner.Due() {
		w.index.SetMix(w.learner.Mix())
	}
	best := w.index.Best(&request, 1, nil)
	if len(best) == 0 {
		return fleet.Placement{}, false
	}
	takes, _, ok := w.index.Choose(best[0].Name, &request)
	if !ok || len(takes) != 1 {
		return fleet.Placement{}, false
	}
	placement := fleet.Placement{GPU: w.nodes[best[0].Name]*w.PerNode + takes[0].Device, Profile: profile}
	for start, part := range w.parts[profile] {
		if part == takes[0].Part {
			placement.Start = start
		}
	}
	return placement, true
}
