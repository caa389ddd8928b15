package workload

import "fmt"

// Kind is what the measured pods ask for.
type Kind string

// The kinds.
const (
	// Plain pods ask for CPU and memory, on nodes without accelerators.
	Plain Kind = "plain"
	// GPU pods ask for one whole device of the eight that a node has.
	GPU Kind = "gpu"
	// MIG pods ask for one of the 56 MIG instances of a node's eight devices.
	MIG Kind = "mig"
	// Shared pods ask for one of the 32 time slices of a node's eight devices.
	Shared Kind = "shared"
	// DRA pods claim one of a node's eight devices by a ResourceClaimTemplate.
	DRA Kind = "dra"
)

// Constraints are the topology spread constraints of pods that state none. With any, the
// scheduler batches no pods.
type Constraints string

// The constraints.
const (
	// System has those that kube-scheduler has by default: batching is off.
	System Constraints = "system"
	// None has none, as our shipped configuration: batching is possible.
	None Constraints = "none"
	// Shipped gives each side what it is delivered with: System to the stock profile,
	// None to ours.
	Shipped Constraints = "shipped"
)

// Workload is one comparison: nodes, then pods that are scheduled before the clock
// starts, then the measured pods. All pods have the same labels, as those of one
// Deployment, or none could be batched with another.
type Workload struct {
	Kind        Kind
	Constraints Constraints
	// Nodes, InitPods and Pods count.
	Nodes, InitPods, Pods int
	// Long workloads are left out unless they are asked for; Brief ones are those of a
	// short run.
	Long, Brief bool
	// full is the name before it was made short; empty where it was not.
	full string
}

// Name is the workload's name, such as gpu-1000/system.
func (w Workload) Name() string { return fmt.Sprintf("%s-%d/%s", w.Kind, w.Nodes, w.Constraints) }

// CatalogueName is the name by which the catalogue has the workload, also when it was
// made short.
func (w Workload) CatalogueName() string {
	if w.full != "" {
		return w.full
	}
	return w.Name()
}

// Short returns the workload at a size that only shows that everything works. It still
// takes some seconds: upstream samples the throughput once a second and drops the first.
func (w Workload) Short() Workload {
	w.full = w.CatalogueName()
	w.Nodes, w.InitPods, w.Pods = 200, 100, 1200
	if w.Kind == DRA {
		w.Nodes, w.InitPods, w.Pods = 50, 50, 300
	}
	return w
}

// DevicesPerNode is how many accelerators a node has, of every kind but Plain.
const DevicesPerNode = 8

// resources are the extended resources of the nodes and how many units each node has.
var resources = map[Kind]struct {
	Name  string
	Units int
}{
	GPU:    {"nvidia.com/gpu", DevicesPerNode},
	MIG:    {"nvidia.com/mig-1g.10gb", 7 * DevicesPerNode},
	Shared: {"nvidia.com/gpu.shared", 4 * DevicesPerNode},
}

// Resource is the extended resource that a pod asks for one unit of, and how many units
// a node has; "" and 0 for Plain and DRA.
func (k Kind) Resource() (name string, units int) {
	r := resources[k]
	return r.Name, r.Units
}

// NodeName is the name of the node with the index, from 0.
func NodeName(index int) string { return fmt.Sprintf("bench-node-%d", index) }
