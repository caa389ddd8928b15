package scheduler

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"wastenot.dev/internal/accelerator"
)

// signature is what this plugin's answer for a pod depends on besides the node.
type signature struct {
	Requests []accelerator.Request
	Verdicts uint64
	Stale    bool
}

// SignPod lets equal pods be scheduled in one batch for as long as no verdict
// changes. Refusing would turn batching off for every accelerator pod. The queue signs
// a pod when it enters, so a batch, which lasts half a second at most, may use scores
// from before a change; Filter still judges each node by what is known in the cycle.
func (p *Plugin) SignPod(_ context.Context, pod *corev1.Pod) ([]fwk.SignFragment, *fwk.Status) {
	requests := accelerator.RequestOf(pod)
	if len(requests) == 0 {
		return nil, nil
	}
	return []fwk.SignFragment{{
		Key:   "wastenot.dev/accelerators",
		Value: signature{Requests: requests, Verdicts: p.facts.verdicts.Load(), Stale: p.facts.stale()},
	}}, nil
}
