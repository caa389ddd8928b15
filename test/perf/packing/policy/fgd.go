package policy

import (
	"math"

	"wastenot.dev/test/perf/packing/replay"
	"wastenot.dev/test/perf/packing/trace"
)

// maxScore is the score of the best node, as in the scheduler framework.
const maxScore = 100

// fgd gives a pod the node whose fragmentation grows least ("Beware of Fragmentation",
// USENIX ATC'23): 100 * sigmoid(F before - F after, in devices), cut to a whole number.
// A fractional pod is tried on each device that has enough left; of equally scored
// devices the first wins, of equally scored nodes the first in tieOrder. Whole devices
// are the first free ones.
//
// These details decide whether the published allocation comes out (means of seeds 42 to
// 51 at a demand of 130 %, ours less the published; with all of them it is within 0.10 on
// every list). The score is whole: with the exact one default loses 0.94. It is cut:
// rounded, default loses 0.31 and gpuspec20 gains 0.17. Ties keep to one random order of
// nodes for the run: with the smallest name gpuspec10 loses 0.33, with a draw for every
// tie default loses 5.3. CPU-only typical pods count all that is free as fragments:
// without them gpuspec20 gains 0.19. That sums of floats are not exact, as the authors'
// are, changes nothing (0.00).
type fgd struct {
	cluster   *replay.Cluster
	order     []int // of nodes, from tieOrder
	fragments *fragments

	// version counts the placements on each node; before is weighted of the node.
	version []uint32
	before  []int64
	// scores are kept for each shape and node until a pod is placed on the node.
	scores map[shape][]scored

	free []int64 // what a node would have left; kept to save the allocation
}

// scored is what a node is worth to a shape.
type scored struct {
	// version is that of the node when it was scored, plus 1: 0 is never scored.
	version uint32
	// score is -1 where CPU, model or devices do not serve. Memory is not looked at.
	score int8
	// device is for a fractional pod.
	device uint8
}

func newFGD(c *replay.Cluster, seed uint64) replay.Policy {
	models := make([]string, len(c.Nodes))
	for i := range c.Nodes {
		models[i] = c.Nodes[i].Model
	}
	f := &fgd{
		cluster: c, order: tieOrder(len(c.Nodes), seed), fragments: newFragments(typicalPods(c.Workload), models),
		version: make([]uint32, len(c.Nodes)), before: make([]int64, len(c.Nodes)),
		scores: map[shape][]scored{},
	}
	for i := range c.Nodes {
		f.measure(i)
	}
	return f
}

// measure brings what is kept of the node in line with the cluster.
func (f *fgd) measure(node int) {
	n := &f.cluster.Nodes[node]
	f.before[node] = f.fragments.weighted(n.Model, n.FreeCPUMilli, n.FreeMilli)
	f.version[node]++
}

// Placed forgets what was computed for the node.
func (f *fgd) Placed(_ *trace.Pod, node int, _ []int) { f.measure(node) }

// Changed forgets it too.
func (f *fgd) Changed(node int) { f.measure(node) }

func (f *fgd) Place(pod *trace.Pod) (int, []int, bool) {
	kind := shapeOf(pod)
	scores, ok := f.scores[kind]
	if !ok {
		scores = make([]scored, len(f.cluster.Nodes))
		f.scores[kind] = scores
	}
	best, bestScore := -1, int8(-1)
	for _, i := range f.order {
		if scores[i].version != f.version[i] {
			scores[i] = f.score(i, pod)
		}
		if scores[i].score > bestScore && f.cluster.Nodes[i].FreeMemoryMiB >= pod.MemoryMiB {
			best, bestScore = i, scores[i].score
		}
	}
	if best < 0 {
		return 0, nil, false
	}
	if pod.Fractional() {
		return best, []int{int(scores[best].device)}, true
	}
	return best, f.cluster.Nodes[best].FirstWhole(pod.GPUs), true
}

// score rates the node for the pod, whatever memory both have.
func (f *fgd) score(node int, pod *trace.Pod) scored {
	n := &f.cluster.Nodes[node]
	s := scored{version: f.version[node], score: -1}
	if pod.CPUMilli > n.FreeCPUMilli || !pod.Accepts(n.Model) {
		return s
	}
	if !pod.Fractional() {
		if whole := n.FirstWhole(pod.GPUs); len(whole) == pod.GPUs {
			s.score = f.scoreOn(node, pod, whole...)
		}
		return s
	}
	for d, free := range n.FreeMilli {
		if free < pod.GPUMilli {
			continue
		}
		if score := f.scoreOn(node, pod, d); score > s.score {
			s.score, s.device = score, uint8(d)
		}
	}
	return s
}

// scoreOn rates the node when the pod is on the given devices.
func (f *fgd) scoreOn(node int, pod *trace.Pod, devices ...int) int8 {
	n := &f.cluster.Nodes[node]
	f.free = append(f.free[:0], n.FreeMilli...)
	for _, d := range devices {
		f.free[d] -= pod.GPUMilli
	}
	after := f.fragments.weighted(n.Model, n.FreeCPUMilli-pod.CPUMilli, f.free)
	return int8(maxScore * sigmoid(f.fragments.gain(f.before[node], after)))
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
