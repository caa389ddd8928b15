package scheduler

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"wastenot.dev/internal/accelerator"
)

// EventsToRegister names the cluster events that may help a pod that this plugin
// turned away. Recoveries and ended quarantines are not among them: those wake the
// parked pods directly (facts.wakeParked), so that a cluster without the CRD still
// schedules its other pods.
func (p *Plugin) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	return []fwk.ClusterEventWithHint{{
		Event:          fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add | fwk.UpdateNodeAllocatable},
		QueueingHintFn: p.afterNodeChange,
	}}, nil
}

// afterNodeChange queues the pod when the node offers what it asks for and would not
// be turned away now.
func (p *Plugin) afterNodeChange(_ klog.Logger, pod *corev1.Pod, _, newObj any) (fwk.QueueingHint, error) {
	node, ok := newObj.(*corev1.Node)
	if !ok {
		return fwk.Queue, fmt.Errorf("expected a node, got %T", newObj)
	}
	requests := accelerator.RequestOf(pod)
	for _, want := range requests {
		if units(node.Status.Allocatable, want.Resource) < want.Count && !p.claimed(want) {
			return fwk.QueueSkip, nil
		}
	}
	if len(p.facts.newState(requests).check(node)) > 0 {
		return fwk.QueueSkip, nil
	}
	return fwk.Queue, nil
}
