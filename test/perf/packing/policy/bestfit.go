package policy

import (
	"wastenot.dev/test/perf/packing/replay"
	"wastenot.dev/test/perf/packing/trace"
)

// bestFit gives a pod the node that has least left afterwards: CPU and devices count
// half each, as parts of the largest node. A fractional pod gets the device with the
// least free part that is enough.
//
// What is left is cut to a whole score of 0 to 100, and the first of equal nodes wins.
// Both come from the scheduler framework in which the paper's authors measured
// (hkust-adsl/kubernetes-scheduler-simulator, pkg/simulator/plugin/best_fit_score.go).
type bestFit struct {
	cluster *replay.Cluster
	order   []int // of nodes, from tieOrder
	// maxCPUMilli and maxMilli are what the largest nodes have.
	maxCPUMilli, maxMilli float64
}

func newBestFit(c *replay.Cluster, seed uint64) replay.Policy {
	b := &bestFit{cluster: c, order: tieOrder(len(c.Nodes), seed), maxCPUMilli: 1, maxMilli: 1}
	for i := range c.Nodes {
		b.maxCPUMilli = max(b.maxCPUMilli, float64(c.Nodes[i].FreeCPUMilli))
		b.maxMilli = max(b.maxMilli, float64(c.Nodes[i].TotalFreeMilli()))
	}
	return b
}

func (b *bestFit) Place(pod *trace.Pod) (int, []int, bool) {
	best, bestScore := -1, -1
	for _, i := range b.order {
		if n := &b.cluster.Nodes[i]; n.Fits(pod) {
			if score := b.score(n, pod); score > bestScore {
				best, bestScore = i, score
			}
		}
	}
	if best < 0 {
		return 0, nil, false
	}
	n := &b.cluster.Nodes[best]
	if pod.Fractional() {
		return best, []int{tightest(n, pod.GPUMilli)}, true
	}
	return best, n.FirstWhole(pod.GPUs), true
}

// score is 100 for a node that would be full and 0 for the largest one, untouched.
func (b *bestFit) score(n *replay.Node, pod *trace.Pod) int {
	cpu := float64(n.FreeCPUMilli-pod.CPUMilli) / b.maxCPUMilli
	gpu := float64(n.TotalFreeMilli()-pod.RequestMilli()) / b.maxMilli
	return int((1 - 0.5*cpu - 0.5*gpu) * maxScore)
}

// tightest is the device with the least free part that is enough, -1 if there is none.
func tightest(n *replay.Node, milli int64) int {
	best := -1
	for d, free := range n.FreeMilli {
		if free >= milli && (best < 0 || free < n.FreeMilli[best]) {
			best = d
		}
	}
	return best
}
