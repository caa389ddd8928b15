package scheduler

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"wastenot.dev/internal/fleet"
)

func TestScore(t *testing.T) {
	tests := map[string]struct {
		prepare   func(b *bench)
		node      *corev1.Node
		pod       *corev1.Pod
		requested map[corev1.ResourceName]int64
		want      int64
	}{
		"healthy and empty":     {prepare: func(b *bench) { b.fleet.set(devicesOf("a", healthy, healthy)) }, want: 99},
		"healthy and then full": {prepare: func(b *bench) { b.fleet.set(devicesOf("a", healthy, healthy)) }, requested: map[corev1.ResourceName]int64{gpu: 1}, want: 99},
		"not known":             {want: 69},
		"silent":                {prepare: func(b *bench) { b.fleet.set(devicesOf("a", healthy, suspect)); b.fleet.mute = true }, want: 69},
		"one is suspect":        {prepare: func(b *bench) { b.fleet.set(devicesOf("a", healthy, suspect)) }, want: 39},
		"the worse of two requests counts": {
			prepare: func(b *bench) {
				b.fleet.set(devicesOf("a", healthy, func(d *fleet.Device) { suspect(d); split("1g.10gb")(d) }))
			},
			node: nodeOf("a", map[corev1.ResourceName]int64{gpu: 1, mig: 1}),
			pod:  podOf("p", map[corev1.ResourceName]int64{gpu: 1, mig: 1}), want: 39,
		},
		"it counts when it comes first, too": {
			prepare: func(b *bench) { b.fleet.set(devicesOf("a", suspect, split("1g.10gb"))) },
			node:    nodeOf("a", map[corev1.ResourceName]int64{gpu: 1, mig: 1}),
			pod:     podOf("p", map[corev1.ResourceName]int64{gpu: 1, mig: 1}), want: 39,
		},
		"the better of two resources, for it asks for no other": {
			prepare: func(b *bench) {
				b.fleet.set(devicesOf("a", healthy, func(d *fleet.Device) { suspect(d); split("1g.10gb")(d) }))
			},
			node: nodeOf("a", map[corev1.ResourceName]int64{gpu: 1, mig: 1}), want: 99,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			node, pod := gpuNode("a"), gpuPod("p")
			if test.node != nil {
				node = test.node
			}
			if test.pod != nil {
				pod = test.pod
			}
			b := newBench(t, node)
			if test.prepare != nil {
				test.prepare(b)
			}
			cycle := b.begin(t, pod)
			if status := b.PreScore(t.Context(), cycle, pod, b.nodeInfos()); !status.IsSuccess() {
				t.Fatalf("PreScore: %v", status)
			}
			got, status := b.Score(t.Context(), cycle, pod, &fakeNodeInfo{node: node, requested: test.requested})
			if !status.IsSuccess() {
				t.Fatalf("Score: %v", status)
			}
			// A node alone is the fullest of its tier.
			list := fwk.NodeScoreList{{Name: node.Name, Score: got}}
			if status := b.ScoreExtensions().NormalizeScore(t.Context(), cycle, pod, list); !status.IsSuccess() || list[0].Score != test.want {
				t.Errorf("score %d, %v, want %d", list[0].Score, status, test.want)
			}
		})
	}
}

func TestAnOpenNodeCostsNoAllocation(t *testing.T) {
	b := newBench(t, gpuNode("a"), nodeOf("m", map[corev1.ResourceName]int64{gpu: 1, mig: 2}))
	b.fleet.set(devicesOf("a", healthy, healthy), devicesOf("m", healthy, split("1g.10gb", "1g.10gb")), devicesOf("b", failed))
	b.quarantines.put(quarantineOf("b", "GPU-b-0"))
	pod := gpuPod("p")
	cycle := b.begin(t, pod)
	for _, name := range []string{"a", "m"} {
		info := &fakeNodeInfo{node: b.nodes[name]}
		if allocations := testing.AllocsPerRun(100, func() { b.Filter(t.Context(), cycle, pod, info) }); allocations > 0 {
			t.Errorf("node %s: Filter allocates %v times", name, allocations)
		}
		if allocations := testing.AllocsPerRun(100, func() { _, _ = b.Score(t.Context(), cycle, pod, info) }); allocations > 0 {
			t.Errorf("node %s: Score allocates %v times", name, allocations)
		}
	}
}
