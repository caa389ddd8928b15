package scheduler

import (
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	clocktesting "k8s.io/utils/clock/testing"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/internal/fleet"
	"wastenot.dev/internal/quarantine"
)

const (
	gpu = "nvidia.com/gpu"
	mig = "nvidia.com/mig-1g.10gb"
)

// fakeFleet is a telemetry that knows what it is given.
type fakeFleet struct {
	mu       sync.Mutex
	snapshot *fleet.Snapshot
	silence  time.Duration
	mute     bool
}

// Snapshot returns what was set last.
func (f *fakeFleet) Snapshot() *fleet.Snapshot {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.snapshot
}

// Silence returns what was set.
func (f *fakeFleet) Silence(time.Time) (time.Duration, bool) { return f.silence, !f.mute }

// set publishes a snapshot of the nodes and returns the change that leads to it.
func (f *fakeFleet) set(nodes ...*fleet.Node) fleet.Change {
	f.mu.Lock()
	defer f.mu.Unlock()
	change := fleet.Change{Old: f.snapshot, New: &fleet.Snapshot{Generation: f.snapshot.Generation + 1, Nodes: map[string]*fleet.Node{}}}
	named := map[string]bool{}
	for _, node := range nodes {
		change.New.Nodes[node.Name] = node
		named[node.Name] = true
	}
	for name := range change.Old.Nodes {
		named[name] = true
	}
	for name := range named {
		change.Nodes = append(change.Nodes, name)
	}
	f.snapshot = change.New
	return change
}

// fakeQuarantines is a set that was or was not read yet.
type fakeQuarantines struct {
	mu       sync.Mutex
	set      *quarantine.Set
	unsynced bool
}

// Current returns the set.
func (f *fakeQuarantines) Current() *quarantine.Set {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.set
}

// Synced tells whether the set was read.
func (f *fakeQuarantines) Synced() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.unsynced
}

// put publishes a set of the quarantines and returns the former and the new one.
func (f *fakeQuarantines) put(quarantines ...*v1alpha1.Quarantine) (old, current *quarantine.Set) {
	f.mu.Lock()
	defer f.mu.Unlock()
	old, f.unsynced = f.set, false
	f.set = quarantine.NewSet(quarantines, old.Version()+1)
	return old, f.set
}

// fakeQueue notes which pods were activated.
type fakeQueue struct {
	mu        sync.Mutex
	activated []string
}

func (f *fakeQueue) activate(_ klog.Logger, pods map[string]*corev1.Pod) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, pod := range pods {
		f.activated = append(f.activated, pod.Name)
	}
}

// take returns the names of the pods that were activated since the last call.
func (f *fakeQueue) take() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	names := f.activated
	f.activated = nil
	return names
}

// fakeNodes are the nodes as an informer has them.
type fakeNodes map[string]*corev1.Node

func (f fakeNodes) node(name string) (*corev1.Node, error) {
	if node := f[name]; node != nil {
		return node, nil
	}
	return nil, fmt.Errorf("node %s is not there", name)
}

// bench is a plugin on fakes.
type bench struct {
	*Plugin

	fleet       *fakeFleet
	quarantines *fakeQuarantines
	queue       *fakeQueue
	nodes       fakeNodes
	events      *events.FakeRecorder
	onPermit    map[types.UID]bool
}

// newBench has read an empty list of quarantines and heard telemetry a second ago.
func newBench(t *testing.T, nodes ...*corev1.Node) *bench {
	t.Helper()
	b := &bench{
		fleet:       &fakeFleet{snapshot: fleet.Empty, silence: time.Second},
		quarantines: &fakeQuarantines{set: quarantine.NewSet(nil, 1)},
		queue:       &fakeQueue{}, nodes: fakeNodes{}, events: events.NewFakeRecorder(100), onPermit: map[types.UID]bool{},
	}
	for _, node := range nodes {
		b.nodes[node.Name] = node
	}
	b.Plugin = &Plugin{
		nodes:   b.nodes,
		packs:   true,
		waiting: func(pod *corev1.Pod) bool { return b.onPermit[pod.UID] },
		facts: &facts{
			fleet: b.fleet, quarantines: b.quarantines, staleAfter: 10 * time.Second, clock: clocktesting.NewFakePassiveClock(time.Unix(1000, 0)),
			parked: newParked(), book: newBook(), roster: newRoster(), widened: newParked(), activate: b.queue.activate, recorder: b.events,
		},
	}
	return b
}

// nodeInfos are the nodes as a scheduling cycle has them.
func (b *bench) nodeInfos() []fwk.NodeInfo {
	var infos []fwk.NodeInfo
	for _, node := range b.nodes {
		infos = append(infos, &fakeNodeInfo{node: node})
	}
	return infos
}

// begin runs PreFilter for the pod and returns the cycle's state.
func (b *bench) begin(t *testing.T, pod *corev1.Pod) *fakeCycle {
	t.Helper()
	cycle := &fakeCycle{}
	if _, status := b.PreFilter(t.Context(), cycle, pod, b.nodeInfos()); !status.IsSuccess() {
		t.Fatalf("PreFilter: %v", status)
	}
	return cycle
}

func (b *bench) filter(t *testing.T, cycle fwk.CycleState, pod *corev1.Pod, node string) *fwk.Status {
	t.Helper()
	return b.Filter(t.Context(), cycle, pod, &fakeNodeInfo{node: b.nodes[node]})
}

// fakeCycle is the state of one cycle. What it does not do is not used.
type fakeCycle struct {
	fwk.CycleState

	data sync.Map
}

// Read returns what was written.
func (c *fakeCycle) Read(key fwk.StateKey) (fwk.StateData, error) {
	if data, ok := c.data.Load(key); ok {
		return data.(fwk.StateData), nil
	}
	return nil, fwk.ErrNotFound
}

// Write keeps the data.
func (c *fakeCycle) Write(key fwk.StateKey, data fwk.StateData) { c.data.Store(key, data) }

// fakeNodeInfo is a node in a cycle. What it does not do is not used.
type fakeNodeInfo struct {
	fwk.NodeInfo

	node       *corev1.Node
	requested  map[corev1.ResourceName]int64
	generation int64
	pods       int
}

// Node returns the node.
func (i *fakeNodeInfo) Node() *corev1.Node { return i.node }

// GetRequested returns what pods have.
func (i *fakeNodeInfo) GetRequested() fwk.Resource { return fakeResource{counts: i.requested} }

// GetAllocatable returns what the node has.
func (i *fakeNodeInfo) GetAllocatable() fwk.Resource {
	counts := map[corev1.ResourceName]int64{}
	for name, quantity := range i.node.Status.Allocatable {
		counts[name] = quantity.Value()
	}
	return fakeResource{counts: counts}
}

// GetGeneration is what was set.
func (i *fakeNodeInfo) GetGeneration() int64 { return i.generation }

// GetPods returns as many pods as were set.
func (i *fakeNodeInfo) GetPods() []fwk.PodInfo { return make([]fwk.PodInfo, i.pods) }

// fakeResource is an amount of everything, CPU in whole ones.
type fakeResource struct {
	fwk.Resource

	counts map[corev1.ResourceName]int64
}

// GetMilliCPU returns thousandths of a CPU.
func (r fakeResource) GetMilliCPU() int64 { return r.counts["cpu"] * 1000 }

// GetMemory returns bytes.
func (r fakeResource) GetMemory() int64 { return r.counts["memory"] }

// GetAllowedPodNumber returns how many pods there may be: 110 where it was not said.
func (r fakeResource) GetAllowedPodNumber() int {
	if pods, said := r.counts["pods"]; said {
		return int(pods)
	}
	return 110
}

// GetScalarResources returns the extended resources.
func (r fakeResource) GetScalarResources() map[corev1.ResourceName]int64 { return r.counts }

func listOf(counts map[corev1.ResourceName]int64) corev1.ResourceList {
	list := corev1.ResourceList{}
	for name, count := range counts {
		list[name] = *resource.NewQuantity(count, resource.DecimalSI)
	}
	return list
}

// nodeOf makes a node whose devices are all allocatable.
func nodeOf(name string, capacity map[corev1.ResourceName]int64) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Status:     corev1.NodeStatus{Capacity: listOf(capacity), Allocatable: listOf(capacity)},
	}
}

// allocatable sets what is left of a resource.
func allocatable(node *corev1.Node, name corev1.ResourceName, count int64) *corev1.Node {
	node = node.DeepCopy()
	node.Status.Allocatable[name] = *resource.NewQuantity(count, resource.DecimalSI)
	return node
}

// podOf makes a pod; its UID is its name.
func podOf(name string, requests map[corev1.ResourceName]int64) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "team", UID: types.UID(name)},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: listOf(requests)}}}},
	}
}

func gpuPod(name string) *corev1.Pod { return podOf(name, map[corev1.ResourceName]int64{gpu: 1}) }

func cpuPod(name string) *corev1.Pod { return podOf(name, map[corev1.ResourceName]int64{"cpu": 1}) }

func gpuNode(name string) *corev1.Node {
	return nodeOf(name, map[corev1.ResourceName]int64{gpu: 2, "cpu": 64})
}

// devicesOf makes a node of telemetry; device n of node x is GPU-x-n.
func devicesOf(name string, changes ...func(*fleet.Device)) *fleet.Node {
	node := &fleet.Node{Name: name}
	for i, change := range changes {
		d := fleet.Device{UUID: fmt.Sprintf("GPU-%s-%d", name, i), Index: fmt.Sprint(i), Grade: v1alpha1.GradeHealthy}
		change(&d)
		node.Devices = append(node.Devices, d)
	}
	node.CountFailed()
	return node
}

func healthy(*fleet.Device) {}

func failed(d *fleet.Device) {
	d.Grade, d.Action = v1alpha1.GradeFailed, v1alpha1.ActionReplaceDevice
	d.Reasons = []fleet.Reason{{Code: "XID79"}}
}

func failedAndOut(d *fleet.Device) {
	failed(d)
	d.VendorExcludes = true
}

func suspect(d *fleet.Device) { d.Grade = v1alpha1.GradeSuspect }

func split(profiles ...string) func(*fleet.Device) {
	return func(d *fleet.Device) {
		d.MIG = true
		for _, profile := range profiles {
			d.Partitions = append(d.Partitions, fleet.Partition{Profile: profile})
		}
	}
}

// quarantineOf makes the quarantine of a device on a node.
func quarantineOf(node, uuid string, changes ...func(*v1alpha1.Quarantine)) *v1alpha1.Quarantine {
	q := &v1alpha1.Quarantine{
		ObjectMeta: metav1.ObjectMeta{Name: uuid},
		Spec:       v1alpha1.QuarantineSpec{Node: node, UUID: uuid, Reason: "RowRemapFailure", Action: v1alpha1.ActionReplaceDevice},
	}
	for _, change := range changes {
		change(q)
	}
	return q
}

func released(q *v1alpha1.Quarantine) { q.Spec.Release = &v1alpha1.Release{Reason: "checked by hand"} }
