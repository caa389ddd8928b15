package scheduler

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"wastenot.dev/internal/accelerator"
	"wastenot.dev/placement/packing"
	"wastenot.dev/placement/podrequest"
)

const notReady = "the quarantines have not been read yet, so no device is known to be safe; retried once they are"

// PreFilter captures the facts that the whole cycle works from, turns away a pod for
// which no node offers what it asks for, and returns the nodes where it would be packed
// best.
func (p *Plugin) PreFilter(_ context.Context, cycle fwk.CycleState, pod *corev1.Pod, nodes []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	requests := accelerator.RequestOf(pod)
	if len(requests) == 0 {
		return nil, fwk.NewStatus(fwk.Skip)
	}
	lifts := p.facts.lifts.Load()
	if !p.facts.quarantines.Synced() {
		p.facts.park(pod, lifts)
		return nil, fwk.NewStatus(fwk.UnschedulableAndUnresolvable, notReady)
	}
	judged := make([]accelerator.Request, 0, len(requests))
	for _, want := range requests {
		switch reason := notOffered(want, nodes); {
		case reason == "":
			judged = append(judged, want)
		case p.claimed(want):
			// DynamicResources makes a claim for it and picks the device.
		default:
			return nil, fwk.NewStatus(fwk.UnschedulableAndUnresolvable, reason)
		}
	}
	s := p.facts.newState(judged)
	cycle.Write(stateKey, s)
	if len(judged) == 0 {
		return nil, fwk.NewStatus(fwk.Skip)
	}
	if !p.packs {
		return nil, nil
	}
	var asked []packing.Request
	if len(judged) == len(requests) {
		asked = podrequest.Of(pod)
	}
	return p.facts.rank(s, pod, asked, nodes), nil
}

func (p *Plugin) claimed(want accelerator.Request) bool {
	return p.byClaim != nil && p.byClaim(want.Resource)
}

// PreFilterExtensions returns nil: the verdict does not depend on a node's pods.
func (*Plugin) PreFilterExtensions() fwk.PreFilterExtensions { return nil }

// notOffered says that no node has the resource, and what they have of its kind.
func notOffered(want accelerator.Request, nodes []fwk.NodeInfo) string {
	for _, node := range nodes {
		if units(node.Node().Status.Capacity, want.Resource) > 0 {
			return ""
		}
	}
	offered := map[string]int{}
	for _, node := range nodes {
		for name, quantity := range node.Node().Status.Allocatable {
			if accelerator.KindOf(name) != accelerator.KindNone && !quantity.IsZero() {
				offered[string(name)]++
			}
		}
	}
	if len(offered) == 0 {
		return fmt.Sprintf("no node offers %s, nor any other accelerator", want.Resource)
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(offered)) {
		parts = append(parts, fmt.Sprintf("%s on %d", name, offered[name]))
	}
	return fmt.Sprintf("no node offers %s; nodes offer %s", want.Resource, strings.Join(parts, ", "))
}

// Filter turns a node away while the kubelet could give the pod an unfit device.
func (p *Plugin) Filter(_ context.Context, cycle fwk.CycleState, pod *corev1.Pod, nodeInfo fwk.NodeInfo) *fwk.Status {
	s, err := readState(cycle)
	if err != nil {
		return fwk.AsStatus(err)
	}
	unfit := s.check(nodeInfo.Node())
	if len(unfit) == 0 {
		return nil
	}
	if s.parked.CompareAndSwap(false, true) {
		p.facts.park(pod, s.lifts)
	}
	rejections.Inc()
	return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, turnedAway(nodeInfo.Node().Name, unfit))
}
