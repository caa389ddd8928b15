package scheduler

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
)

func TestNodeChangesThatMayHelp(t *testing.T) {
	b := newBench(t)
	registered, err := b.EventsToRegister(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		resource fwk.EventResource
		action   fwk.ActionType
		want     bool
	}{
		"a new node":                {resource: fwk.Node, action: fwk.Add, want: true},
		"other allocatable devices": {resource: fwk.Node, action: fwk.UpdateNodeAllocatable, want: true},
		"other labels":              {resource: fwk.Node, action: fwk.UpdateNodeLabel},
		"a pod that ends":           {resource: fwk.AssignedPod, action: fwk.Delete},
	} {
		got := false
		for _, event := range registered {
			got = got || (event.Event.Resource == test.resource && event.Event.ActionType&test.action != 0)
		}
		if got != test.want {
			t.Errorf("%s: registered: %t", name, got)
		}
	}
}

func TestAfterNodeChange(t *testing.T) {
	tests := map[string]struct {
		prepare   func(b *bench)
		pod       *corev1.Pod
		node      any
		want      fwk.QueueingHint
		wantError bool
	}{
		"a node that is fit":                 {node: gpuNode("a"), want: fwk.Queue},
		"a node with too few":                {node: gpuNode("a"), pod: podOf("p", map[corev1.ResourceName]int64{gpu: 3}), want: fwk.QueueSkip},
		"a node with one of two resources":   {node: gpuNode("a"), pod: podOf("p", map[corev1.ResourceName]int64{gpu: 1, mig: 1}), want: fwk.QueueSkip},
		"a node without accelerators":        {node: nodeOf("c", map[corev1.ResourceName]int64{"cpu": 64}), want: fwk.QueueSkip},
		"a node that is unfit":               {prepare: func(b *bench) { b.fleet.set(devicesOf("a", failed, healthy)) }, node: gpuNode("a"), want: fwk.QueueSkip},
		"another node is unfit":              {prepare: func(b *bench) { b.fleet.set(devicesOf("b", failed)) }, node: gpuNode("a"), want: fwk.Queue},
		"the vendor has not taken it out":    {prepare: func(b *bench) { b.fleet.set(devicesOf("a", failedAndOut, healthy)) }, node: gpuNode("a"), want: fwk.QueueSkip},
		"the vendor has now taken it out":    {prepare: func(b *bench) { b.fleet.set(devicesOf("a", failedAndOut, healthy)) }, node: allocatable(gpuNode("a"), gpu, 1), want: fwk.Queue},
		"quarantined while telemetry is out": {prepare: func(b *bench) { b.fleet.mute = true; b.quarantines.put(quarantineOf("a", "GPU-a-0")) }, node: gpuNode("a"), want: fwk.QueueSkip},
		"what is no node":                    {node: gpuPod("p"), want: fwk.Queue, wantError: true},
		"nothing":                            {want: fwk.Queue, wantError: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			if test.prepare != nil {
				test.prepare(b)
			}
			pod := gpuPod("p")
			if test.pod != nil {
				pod = test.pod
			}
			got, err := b.afterNodeChange(klog.Background(), pod, nil, test.node)
			if got != test.want || (err != nil) != test.wantError {
				t.Errorf("%v, %v, want %v", got, err, test.want)
			}
		})
	}
}
