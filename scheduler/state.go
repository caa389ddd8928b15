package scheduler

import (
	"errors"
	"slices"
	"strings"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"wastenot.dev/internal/accelerator"
	"wastenot.dev/internal/fleet"
	"wastenot.dev/internal/quarantine"
	"wastenot.dev/placement"
	"wastenot.dev/placement/packing"
)

const stateKey fwk.StateKey = Name

// state is what one scheduling cycle works from: one request, one snapshot, one set.
// It is not changed after PreFilter but for parked, so clones share it.
type state struct {
	requests    []accelerator.Request
	fleet       *fleet.Snapshot
	quarantines *quarantine.Set
	stale       bool
	// asked are the requests as packing sees them, one for each of requests; none where
	// packing has no say.
	asked []packing.Request
	// scores has what the nodes of the short list are worth; narrowed tells that there is
	// one.
	scores   map[string]int64
	narrowed bool
	// lifts is how often something had been lifted when the facts were read.
	lifts uint64
	// parked tells that the pod was turned away once in this cycle.
	parked atomic.Bool
}

// Clone returns the state itself: nothing in it depends on the pods of a node.
func (s *state) Clone() fwk.StateData { return s }

// errNoState is made once: every pod without accelerators meets it.
var errNoState = errors.New("reading the cycle state of plugin " + Name + ": PreFilter has left none")

func readState(cycle fwk.CycleState) (*state, error) {
	data, err := cycle.Read(stateKey)
	if err != nil {
		return nil, errNoState
	}
	s, ok := data.(*state)
	if !ok {
		return nil, errNoState
	}
	return s, nil
}

// newState captures the facts for a cycle. The count of lifts comes first, so that
// park sees every lift that these facts may lack.
func (f *facts) newState(requests []accelerator.Request) *state {
	lifts := f.lifts.Load()
	return &state{
		requests: requests, lifts: lifts,
		fleet: f.fleet.Snapshot(), quarantines: f.quarantines.Current(), stale: f.stale(),
	}
}

// view is the node as placement judges it; requested is what pods already hold.
func (s *state) view(node *corev1.Node, want accelerator.Request, requested int64) placement.View {
	known := s.fleet.Node(node.Name)
	return placement.View{
		Node:        known,
		Quarantined: s.quarantines.OnNode(node.Name),
		Capacity:    units(node.Status.Capacity, want.Resource),
		Allocatable: units(node.Status.Allocatable, want.Resource),
		Requested:   requested,
		MixedMIG:    partitioned(known) && offersMIG(node.Status.Allocatable),
		Stale:       s.stale,
	}
}

// check returns the devices for which the node must not be used.
func (s *state) check(node *corev1.Node) []placement.Unfit {
	if len(s.quarantines.OnNode(node.Name)) == 0 {
		if known := s.fleet.Node(node.Name); known == nil || known.Failed == 0 {
			return nil
		}
	}
	var unfit []placement.Unfit
	for _, want := range s.requests {
		view := s.view(node, want, 0)
		for _, u := range placement.Check(&view, want) {
			if !slices.Contains(unfit, u) {
				unfit = append(unfit, u)
			}
		}
	}
	return unfit
}

func units(list corev1.ResourceList, name corev1.ResourceName) int64 {
	quantity := list[name]
	return quantity.Value()
}

// partitioned tells whether any device is split up; most nodes have none, which spares
// them a look through their resources.
func partitioned(node *fleet.Node) bool {
	if node == nil {
		return false
	}
	for i := range node.Devices {
		if node.Devices[i].MIG {
			return true
		}
	}
	return false
}

// offersMIG tells whether the node offers MIG profiles as resources of their own. A
// profile of a former layout stays in capacity with 0; it does not count.
func offersMIG(list corev1.ResourceList) bool {
	for name, quantity := range list {
		if accelerator.KindOf(name) == accelerator.KindMIG && !quantity.IsZero() {
			return true
		}
	}
	return false
}

// turnedAway is the sentence of a pod's condition.
func turnedAway(node string, unfit []placement.Unfit) string {
	parts := make([]string, len(unfit))
	for i, u := range unfit {
		parts[i] = u.String()
	}
	return "unfit devices on " + node + ": " + strings.Join(parts, "; ")
}
