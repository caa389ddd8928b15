package replay

import (
	"context"
	"fmt"
	"slices"

	"wastenot.dev/test/perf/packing/trace"
)

// Policy decides where pods go. It is told of the cluster once, by its Constructor.
type Policy interface {
	// Place returns the index of a node and of its devices; ok is false when the pod
	// fits nowhere. A pod without devices gets none.
	Place(pod *trace.Pod) (node int, devices []int, ok bool)
}

// Observer is a policy that wants to hear of every placement, once the cluster shows it,
// such as to forget what it computed for the node.
type Observer interface {
	Placed(pod *trace.Pod, node int, devices []int)
}

// FaultObserver is a policy that wants to hear of devices that turned bad or good. Those
// that are bad show nothing left.
type FaultObserver interface {
	Changed(node int)
}

// Constructor makes a policy for one run. The cluster is live; the policy reads it and
// must not change it. What is random in the policy comes from the seed alone.
type Constructor func(c *Cluster, seed uint64) Policy

// Experiment is one run: what arrives where.
type Experiment struct {
	Nodes []trace.Node
	// Workload is what a policy may know beforehand, Arrivals what comes, in order.
	Workload, Arrivals []trace.Pod
	Seed               uint64
	// Faults are in order of From. Blind hides them from the policy, which then may place
	// pods on bad devices; one that sees them must not.
	Faults []Fault
	Blind  bool
}

// Run lets the pods arrive and returns what became of them. A wrong answer of the policy
// ends the run with an error that names the pod and the node.
func Run(ctx context.Context, e *Experiment, construct Constructor) (*Result, error) {
	truth := NewCluster(e.Nodes, nil)
	shown := NewCluster(e.Nodes, slices.Clone(e.Workload))
	policy := construct(shown, e.Seed)
	observer, _ := policy.(Observer)
	faultObserver, _ := policy.(FaultObserver)
	weather := newWeather(e, truth, shown)
	result := &Result{CapacityMilli: trace.CapacityMilli(e.Nodes), Rows: make([]Row, 0, len(e.Arrivals))}
	for i := range e.Arrivals {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("replaying arrival %d: %w", i, err)
		}
		for _, node := range weather.turn(i) {
			if faultObserver != nil {
				faultObserver.Changed(node)
			}
		}
		pod := e.Arrivals[i]
		node, devices, ok := policy.Place(&pod)
		pod = e.Arrivals[i] // the policy had a copy
		if !ok {
			if err := weather.checkUnfit(&pod); err != nil {
				return nil, err
			}
			result.add(&pod, "", nil)
			continue
		}
		if err := weather.check(&pod, node, devices); err != nil {
			return nil, err
		}
		devices = slices.Clone(devices)
		truth.apply(&pod, node, devices)
		shown.apply(&pod, node, devices)
		result.add(&pod, truth.Nodes[node].Name, devices)
		if weather.onBad(node, devices) > 0 {
			result.OnBadDevices++
		}
		if observer != nil {
			observer.Placed(&pod, node, devices)
		}
	}
	result.HealthyMilli, result.HealthyAllocatedMilli = weather.healthy(trace.WholeMilli)
	return result, nil
}
