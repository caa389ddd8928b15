package scheduler

import (
	"context"
	"math"

	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"wastenot.dev/internal/accelerator"
	"wastenot.dev/placement"
)

// PreScore leaves pods that need no judging to the other plugins, and all pods of a
// profile that does not pack.
func (p *Plugin) PreScore(_ context.Context, cycle fwk.CycleState, pod *corev1.Pod, _ []fwk.NodeInfo) *fwk.Status {
	s, err := readState(cycle)
	if !p.packs {
		return fwk.NewStatus(fwk.Skip)
	}
	switch {
	case err == nil && len(s.requests) == 0, err != nil && len(accelerator.RequestOf(pod)) == 0:
		return fwk.NewStatus(fwk.Skip)
	case err != nil:
		return fwk.AsStatus(err)
	}
	return nil
}

// Score rates the node by the worst device that the pod may get there, then by what it
// takes from the pods to come. A pod with several requests is worth what the worst of them
// is.
func (p *Plugin) Score(_ context.Context, cycle fwk.CycleState, _ *corev1.Pod, nodeInfo fwk.NodeInfo) (int64, *fwk.Status) {
	s, err := readState(cycle)
	if err != nil {
		return 0, fwk.AsStatus(err)
	}
	node := nodeInfo.Node()
	if score, listed := s.scores[node.Name]; listed {
		return score, nil
	}
	requested := nodeInfo.GetRequested().GetScalarResources()
	lost := p.facts.roster.lost(node.Name, s.asked)
	score := int64(math.MaxInt64)
	for _, want := range s.requests {
		view := s.view(node, want, requested[want.Resource])
		score = min(score, placement.Score(&view, want, lost))
	}
	return score, nil
}

// ScoreExtensions brings the scores of one cycle into the framework's range.
func (p *Plugin) ScoreExtensions() fwk.ScoreExtensions { return p }

// NormalizeScore keeps the order of the scores.
func (*Plugin) NormalizeScore(_ context.Context, _ fwk.CycleState, _ *corev1.Pod, scores fwk.NodeScoreList) *fwk.Status {
	raw := make([]int64, len(scores))
	for i := range scores {
		raw[i] = scores[i].Score
	}
	placement.Normalize(raw)
	for i := range scores {
		scores[i].Score = raw[i]
	}
	return nil
}
