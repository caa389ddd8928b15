package scheduler

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
)

// TestResourceServedByClaim: what a DeviceClass serves is in no node's capacity, and is
// none of the kubelet's choices either.
func TestResourceServedByClaim(t *testing.T) {
	const claimed corev1.ResourceName = "nvidia.com/mig-1g.12gb"
	b := newBench(t, gpuNode("a"))
	pod := podOf("p", map[corev1.ResourceName]int64{claimed: 1})

	if _, status := b.PreFilter(t.Context(), &fakeCycle{}, pod, b.nodeInfos()); status.Code() != fwk.UnschedulableAndUnresolvable {
		t.Errorf("nobody serves it: PreFilter says %v", status)
	}
	b.byClaim = func(name corev1.ResourceName) bool { return name == claimed }
	cycle := &fakeCycle{}
	if _, status := b.PreFilter(t.Context(), cycle, pod, b.nodeInfos()); !status.IsSkip() {
		t.Errorf("a claim serves it: PreFilter says %v", status)
	}
	if status := b.PreScore(t.Context(), cycle, pod, b.nodeInfos()); !status.IsSkip() {
		t.Errorf("PreScore says %v", status)
	}
	if status := b.Reserve(t.Context(), cycle, pod, "a"); !status.IsSuccess() || b.facts.book.len() != 0 {
		t.Errorf("Reserve says %v and books %d pods", status, b.facts.book.len())
	}
	if hint, err := b.afterNodeChange(klog.Background(), pod, nil, gpuNode("b")); err != nil || hint != fwk.Queue {
		t.Errorf("the hint is %v, %v", hint, err)
	}

	// Beside it, what the kubelet gives out is judged as ever.
	both := podOf("q", map[corev1.ResourceName]int64{claimed: 1, gpu: 1})
	b.quarantines.put(quarantineOf("a", "GPU-a-0"))
	cycle = b.begin(t, both)
	if status := b.Filter(t.Context(), cycle, both, b.nodeInfos()[0]); status.IsSuccess() {
		t.Error("a node with a quarantined GPU was let pass")
	}
}
