package scheduler

import (
	"context"
	"fmt"
	"slices"

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

// Reserve judges the chosen node again by what is known now, for the cycle may have
// been long, and enters the pod in the book.
func (p *Plugin) Reserve(ctx context.Context, cycle fwk.CycleState, pod *corev1.Pod, nodeName string) *fwk.Status {
	s, err := readState(cycle)
	if err != nil || len(s.requests) == 0 {
		return nil // Nothing to judge.
	}
	if status := p.recheck(pod, s, nodeName); status != nil {
		return status
	}
	p.facts.book.enter(pod, nodeName)
	p.facts.parked.remove(pod.UID)
	p.facts.widened.remove(pod.UID)
	p.record(ctx, s, pod, nodeName)
	return nil
}

// Unreserve takes the pod out of the book.
func (p *Plugin) Unreserve(_ context.Context, _ fwk.CycleState, pod *corev1.Pod, _ string) {
	p.facts.book.remove(pod.UID)
}

// PreBindPreFlight skips pods that are bound right after Reserve: the scheduler
// writes to the API server, once more for each pod, that it expects to bind it when
// any plugin has something to do before.
func (p *Plugin) PreBindPreFlight(_ context.Context, cycle fwk.CycleState, pod *corev1.Pod, _ string) (*fwk.PreBindPreFlightResult, *fwk.Status) {
	if _, err := readState(cycle); err != nil || !p.mayWait(pod) {
		return nil, fwk.NewStatus(fwk.Skip)
	}
	return &fwk.PreBindPreFlightResult{AllowParallel: true}, nil
}

// mayWait tells whether time may pass between Reserve and the binding: until a Permit
// plugin lets the pod go, or until its volumes or claims are ready.
func (p *Plugin) mayWait(pod *corev1.Pod) bool {
	return p.waiting(pod) || len(pod.Spec.ResourceClaims) > 0 || claimsVolumes(pod)
}

func claimsVolumes(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.PersistentVolumeClaim != nil || v.Ephemeral != nil })
}

// PreBind judges the node a last time: the pod may have waited for volumes or a gang.
// It allows to be run beside others: it reads only.
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
	now := p.facts.newState(s.requests)
	unfit := now.check(node)
	if len(unfit) == 0 {
		return nil
	}
	p.facts.park(pod, now.lifts)
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
