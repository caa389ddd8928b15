package scheduler

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
)

// PostFilter tries a pod again on all nodes when none of its short list would do. The
// plugin must come first here, which the shipped profiles see to: preemption would evict
// pods while a node that was left out is free.
func (p *Plugin) PostFilter(ctx context.Context, cycle fwk.CycleState, pod *corev1.Pod, _ fwk.NodeToStatusReader) (*fwk.PostFilterResult, *fwk.Status) {
	s, err := readState(cycle)
	if err != nil || !s.narrowed {
		return nil, fwk.NewStatus(fwk.Unschedulable)
	}
	p.facts.widened.add(pod)
	if p.facts.gone != nil && p.facts.gone(pod) {
		p.facts.widened.remove(pod.UID)
	}
	if p.facts.activate != nil {
		p.facts.activate(klog.FromContext(ctx), map[string]*corev1.Pod{string(pod.UID): pod})
	}
	return nil, fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "none of the nodes that pack the pod best can take it; all nodes are tried next")
}
