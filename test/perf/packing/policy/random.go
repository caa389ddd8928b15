package policy

import (
	"math/rand/v2"

	"wastenot.dev/test/perf/packing/replay"
	"wastenot.dev/test/perf/packing/trace"
)

// randomStream sets the choices apart from what else is drawn with the same seed.
const randomStream = 0x72616e64

// random gives a pod any node where it fits, and a fractional pod any device that has
// enough left, all with the same chance. Whole devices are alike: the first ones serve.
type random struct {
	cluster *replay.Cluster
	draw    *rand.Rand
	nodes   []int // where the pod fits; kept to save the allocation
}

func newRandom(c *replay.Cluster, seed uint64) replay.Policy {
	return &random{cluster: c, draw: rand.New(rand.NewPCG(seed, randomStream))}
}

func (r *random) Place(pod *trace.Pod) (int, []int, bool) {
	r.nodes = r.nodes[:0]
	for i := range r.cluster.Nodes {
		if r.cluster.Nodes[i].Fits(pod) {
			r.nodes = append(r.nodes, i)
		}
	}
	if len(r.nodes) == 0 {
		return 0, nil, false
	}
	node := r.nodes[r.draw.IntN(len(r.nodes))]
	n := &r.cluster.Nodes[node]
	if !pod.Fractional() {
		return node, n.FirstWhole(pod.GPUs), true
	}
	var devices []int
	for d, free := range n.FreeMilli {
		if free >= pod.GPUMilli {
			devices = append(devices, d)
		}
	}
	return node, []int{devices[r.draw.IntN(len(devices))]}, true
}
