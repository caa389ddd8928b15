package scheduler

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"wastenot.dev/internal/accelerator"
	"wastenot.dev/placement"
)

// PreScore leaves pods without accelerators to the other plugins.
func (*Plugin) PreScore(_ context.Context, cycle fwk.CycleState, pod *corev1.Pod, _ []fwk.NodeInfo) *fwk.Status {
	if _, err := readState(cycle); err != nil {
		if len(accelerator.RequestOf(pod)) == 0 {
			return fwk.NewStatus(fwk.Skip)
		}
		return fwk.AsStatus(err)
	}
	return nil
}

// Score rates the node by the worst device that the pod may get there, then by how
// full it is. A pod with several requests is worth what the worst of them is.
func (p *Plugin) Score(_ context.Context, cycle fwk.CycleState, _ *corev1.Pod, nodeInfo fwk.NodeInfo) (int64, *fwk.Status) {
	s, err := readState(cycle)
	if err != nil {
		return 0, fwk.AsStatus(err)
	}
	requested := nodeInfo.GetRequested().GetScalarResources()
	score := fwk.MaxScore
	for _, want := range s.requests {
		view := s.view(nodeInfo.Node(), want, requested[want.Resource])
		score = min(score, placement.Score(&view, want))
	}
	return score, nil
}

// ScoreExtensions returns nil: scores are absolute, so that a fleet of equally bad
// nodes is not stretched into good and bad ones.
func (*Plugin) ScoreExtensions() fwk.ScoreExtensions { return nil }
