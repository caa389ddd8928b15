package policy

import (
	"strings"

	"wastenot.dev/placement/packing"
	"wastenot.dev/test/perf/packing/replay"
	"wastenot.dev/test/perf/packing/trace"
)

// halfLife is after how many requests what was learnt counts half.
const halfLife = 4096

// wastenot places pods by package packing. It knows nothing of the workload beforehand:
// the mix is learnt from what has arrived.
type wastenot struct {
	cluster *replay.Cluster
	index   *packing.Index
	learner *packing.Learner
	view    view
	// byName has the index of each node in the cluster.
	byName map[string]int
}

// view is how nodes and pods look to package packing.
type view interface {
	node(n *replay.Node) packing.Node
	request(pod *trace.Pod) packing.Request
	// devices are those that the pod gets on the node, which has room for it.
	devices(n *replay.Node, pod *trace.Pod, takes []packing.Take) []int
}

const kindGPU = "gpu"

func newWastenot(c *replay.Cluster, _ uint64) replay.Policy {
	return newWastenotWith(c, apart{packing.Divisible(kindGPU, packing.Whole)})
}

func newWastenotWith(c *replay.Cluster, v view) *wastenot {
	learner := packing.NewLearner(halfLife, nil)
	w := &wastenot{cluster: c, learner: learner, index: packing.NewIndex(learner.Mix()), view: v, byName: map[string]int{}}
	for i := range c.Nodes {
		w.byName[c.Nodes[i].Name] = i
		w.tell(i)
	}
	return w
}

// tell brings the index up to date on the node.
func (w *wastenot) tell(i int) {
	n := &w.cluster.Nodes[i]
	state := w.view.node(n)
	w.index.Set(n.Name, &state)
}

// Placed tells the index.
func (w *wastenot) Placed(_ *trace.Pod, node int, _ []int) { w.tell(node) }

// Changed tells it too.
func (w *wastenot) Changed(node int) { w.tell(node) }

func (w *wastenot) Place(pod *trace.Pod) (int, []int, bool) {
	request := w.view.request(pod)
	w.learner.Observe(request)
	if w.learner.Due() {
		w.index.SetMix(w.learner.Mix())
	}
	best := w.index.Best(&request, 1, nil)
	if len(best) == 0 {
		return 0, nil, false
	}
	takes, _, _ := w.index.Choose(best[0].Name, &request)
	node := w.byName[best[0].Name]
	return node, w.view.devices(&w.cluster.Nodes[node], pod, takes), true
}

// Cost is what it costs to place the pod on the node of the name as the cluster is now,
// for people who wonder why another one won; false when it does not fit.
func (w *wastenot) Cost(pod *trace.Pod, node string) (packing.Cost, bool) {
	request := w.view.request(pod)
	return w.index.Cost(node, &request)
}

// apart sees each device for itself and chooses among them.
type apart struct{ layout *packing.Layout }

func (v apart) node(n *replay.Node) packing.Node {
	state := packing.Node{Product: n.Model, CPUMilli: n.FreeCPUMilli, MemoryMiB: n.FreeMemoryMiB}
	for _, free := range n.FreeMilli {
		state.Devices = append(state.Devices, packing.Device{Layout: v.layout, Free: uint64(free)})
	}
	return state
}

func (apart) request(pod *trace.Pod) packing.Request {
	r := packing.Request{CPUMilli: pod.CPUMilli, MemoryMiB: pod.MemoryMiB, Products: strings.Join(pod.Models, "|")}
	if pod.GPUs > 0 {
		r.Kind, r.Count, r.Milli = kindGPU, int32(pod.GPUs), int32(pod.GPUMilli)
	}
	return r
}

func (apart) devices(_ *replay.Node, _ *trace.Pod, takes []packing.Take) []int {
	devices := make([]int, len(takes))
	for i := range takes {
		devices[i] = takes[i].Device
	}
	return devices
}
