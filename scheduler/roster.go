package scheduler

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"

	"wastenot.dev/internal/fleet"
	"wastenot.dev/placement/packing"
)

// halfLife is after how many requests one that was seen counts half in the mix that the
// scheduler learns for itself.
const halfLife = 4096

// roster keeps the packing index in step with the nodes of the scheduler's snapshot. Each
// cycle costs a look at every node's generation, and work for those that changed.
type roster struct {
	mu    sync.Mutex
	index *packing.Index
	known []rostered
	// infos finds the node of a name in the last snapshot.
	infos map[string]fwk.NodeInfo
	// dirty are nodes of which something changed that no snapshot shows: devices or
	// quarantines. all is every node.
	dirty sets.Set[string]
	all   bool
	stale bool

	layouts layouts
	// learner learns the mix from the pods that come by, each once, while telemetry
	// does not say it; told is what telemetry said last.
	learner *packing.Learner
	seen    map[types.UID]struct{}
	told    *fleet.Mix
}

// rostered is what of a node's state the index has.
type rostered struct {
	info       fwk.NodeInfo
	generation int64
	name       string
}

func newRoster() *roster {
	learner := packing.NewLearner(halfLife, nil)
	return &roster{
		index: packing.NewIndex(learner.Mix()), infos: map[string]fwk.NodeInfo{}, dirty: sets.New[string](),
		layouts: layouts{}, learner: learner, seen: map[types.UID]struct{}{},
	}
}

// touch notes that the nodes are not what they were.
func (r *roster) touch(names ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dirty.Insert(names...)
}

// forget lets a pod go that will not be scheduled again.
func (r *roster) forget(uid types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.seen, uid)
}

// lost is what the requests to come lose when the node takes the pod, in thousandths of
// a device.
func (r *roster) lost(node string, asked []packing.Request) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	var sum int64
	for i := range asked {
		if cost, ok := r.index.Cost(node, &asked[i]); ok {
			sum += packing.Mean(cost.Price)
		}
	}
	return sum
}

// observe counts the pod's requests the first time it comes by. A pod that is gone by then
// would never be forgotten.
func (r *roster) observe(pod *corev1.Pod, requests []packing.Request, gone func(*corev1.Pod) bool) {
	if _, again := r.seen[pod.UID]; again || len(requests) == 0 {
		return
	}
	r.seen[pod.UID] = struct{}{}
	if gone != nil && gone(pod) {
		delete(r.seen, pod.UID)
	}
	for i := range requests {
		r.learner.Observe(requests[i])
	}
}

// expect takes what telemetry says is asked for or, where it says nothing, what was
// counted here.
func (r *roster) expect(told *fleet.Mix) {
	switch {
	case told != nil && told != r.told:
		r.index.SetMix(mixOf(told))
	case told == nil && (r.told != nil || r.learner.Due()):
		r.index.SetMix(r.learner.Mix())
	}
	r.told = told
}

func mixOf(told *fleet.Mix) *packing.Mix {
	items := make([]packing.Item, len(told.Items))
	for i, item := range told.Items {
		items[i] = packing.Item{Weight: item.Weight, Request: packing.Request{
			Kind: item.Kind, Count: item.Count, Milli: item.Milli, CPUMilli: item.CPUMilli, MemoryMiB: item.MemoryMiB, Products: item.Products,
		}}
	}
	return packing.NewMix(items)
}

// follow brings the index up to date with the snapshot of the cycle. latest tells that
// nothing newer is known than what the cycle works from; else the nodes that were touched
// may have been so on account of what is newer, and are looked at again in the next.
func (r *roster) follow(s *state, nodes []fwk.NodeInfo, latest bool) {
	if s.stale != r.stale {
		r.stale, r.all = s.stale, true
	}
	if !r.sameNodes(nodes) {
		r.adopt(nodes)
	}
	for i := range r.known {
		k := &r.known[i]
		generation := k.info.GetGeneration()
		if !r.all && generation == k.generation && (len(r.dirty) == 0 || !r.dirty.Has(k.name)) {
			continue
		}
		k.generation = generation
		node := r.layouts.describe(s, k.info)
		r.index.Set(k.name, &node)
	}
	r.all = false
	if latest {
		r.dirty.Clear()
	}
}

// sameNodes tells whether the snapshot has the same nodes as before, at the same places.
// The scheduler keeps one NodeInfo for each node and writes changes into it.
func (r *roster) sameNodes(nodes []fwk.NodeInfo) bool {
	if len(nodes) != len(r.known) {
		return false
	}
	for i := range nodes {
		if nodes[i] != r.known[i].info {
			return false
		}
	}
	return true
}

// adopt takes another list of nodes over.
func (r *roster) adopt(nodes []fwk.NodeInfo) {
	before := r.infos
	r.infos = make(map[string]fwk.NodeInfo, len(nodes))
	generations := make(map[string]int64, len(r.known))
	for i := range r.known {
		generations[r.known[i].name] = r.known[i].generation
	}
	r.known = make([]rostered, len(nodes))
	for i, info := range nodes {
		name := info.Node().Name
		r.infos[name] = info
		r.known[i] = rostered{info: info, name: name, generation: -1}
		if generation, same := generations[name]; same && before[name] == info {
			r.known[i].generation = generation
		}
		delete(before, name)
	}
	for name := range before {
		r.index.Delete(name)
	}
}
