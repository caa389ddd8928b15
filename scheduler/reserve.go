package scheduler

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"wastenot.dev/placement"
)

// nodeReader reads a node outside a scheduling cycle, where the cycle's own snapshot
// must not be used.
type nodeReader interface {
	node(name string) (*corev1.Node, error)
}

type listerNodes struct{ corelisters.NodeLister }

func (l listerNodes) node(name string) (*corev1.Node, error) { return l.Get(name) }

// Reserve judges the chosen node again by what is known now, since a batch may reuse
// an older answer, and enters the pod in the book.
func (p *Plugin) Reserve(ctx context.Context, cycle fwk.CycleState, pod *corev1.Pod, nodeName string) *fwk.Status {
	s, err := readState(cycle)
	if err != nil {
		return nil // No accelerators.
	}
	if status := p.recheck(pod, s, nodeName); status != nil {
		return status
	}
	p.facts.book.enter(pod, nodeName)
	p.facts.parked.remove(pod.UID)
	p.record(ctx, s, pod, nodeName)
	return nil
}

// Unreserve takes the pod out of the book.
func (p *Plugin) Unreserve(_ context.Context, _ fwk.CycleState, pod *corev1.Pod, _ string) {
	p.facts.book.remove(pod.UID)
}

// PreBindPreFlight skips pods without accelerators.
func (p *Plugin) PreBindPreFlight(_ context.Context, cycle fwk.CycleState, _ *corev1.Pod, _ string) (*fwk.PreBindPreFlightResult, *fwk.Status) {
	if _, err := readState(cycle); err != nil {
		return nil, fwk.NewStatus(fwk.Skip)
	}
	return &fwk.PreBindPreFlightResult{AllowParallel: true}, nil
}

// PreBind judges the node a last time: the pod may have waited for volumes or a gang.
func (p *Plugin) PreBind(_ context.Context, cycle fwk.CycleState, pod *corev1.Pod, nodeName string) *fwk.Status {
	s, err := readState(cycle)
	if err != nil {
		return nil
	}
	return p.recheck(pod, s, nodeName)
}

func (p *Plugin) recheck(pod *corev1.Pod, s *state, nodeName string) *fwk.Status {
	node, err := p.nodes.node(nodeName)
	if err != nil {
		return fwk.AsStatus(fmt.Errorf("reading node %s: %w", nodeName, err))
	}
	unfit := p.facts.newState(s.requests).check(node)
	if len(unfit) == 0 {
		return nil
	}
	p.facts.parked.add(pod)
	rejections.Inc()
	return fwk.NewStatus(fwk.Unschedulable, turnedAway(nodeName, unfit))
}

// record logs the decision with its inputs.
func (p *Plugin) record(ctx context.Context, s *state, pod *corev1.Pod, nodeName string) {
	logger := klog.FromContext(ctx).V(4)
	if !logger.Enabled() {
		return
	}
	node, err := p.nodes.node(nodeName)
	if err != nil {
		return
	}
	for _, want := range s.requests {
		view := s.view(node, want, 0)
		logger.Info("Reserved accelerators", "pod", klog.KObj(pod), "node", nodeName, "resource", want.Resource, "count", want.Count,
			"generation", s.fleet.Generation, "stale", s.stale, "ranking", placement.Rank(&view, want))
	}
}
