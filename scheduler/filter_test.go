package scheduler

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"wastenot.dev/internal/fleet"
)

func TestPreFilterLeavesOtherPodsAlone(t *testing.T) {
	b := newBench(t, gpuNode("a"))
	b.quarantines.unsynced = true
	for _, pod := range []*corev1.Pod{cpuPod("cpu"), podOf("zero", map[corev1.ResourceName]int64{gpu: 0})} {
		cycle := &fakeCycle{}
		if _, status := b.PreFilter(t.Context(), cycle, pod, b.nodeInfos()); !status.IsSkip() {
			t.Errorf("%s: PreFilter says %v, want Skip", pod.Name, status)
		}
		if status := b.PreScore(t.Context(), cycle, pod, b.nodeInfos()); !status.IsSkip() {
			t.Errorf("%s: PreScore says %v, want Skip", pod.Name, status)
		}
		if _, status := b.PreBindPreFlight(t.Context(), cycle, pod, "a"); !status.IsSkip() {
			t.Errorf("%s: PreBindPreFlight says %v, want Skip", pod.Name, status)
		}
		if status := b.Reserve(t.Context(), cycle, pod, "a"); !status.IsSuccess() || b.facts.book.len() > 0 {
			t.Errorf("%s: Reserve says %v and has %d in the book", pod.Name, status, b.facts.book.len())
		}
		if status := b.PreBind(t.Context(), cycle, pod, "a"); !status.IsSuccess() {
			t.Errorf("%s: PreBind says %v", pod.Name, status)
		}
		b.Unreserve(t.Context(), cycle, pod, "a")
	}
	if b.facts.parked.len() > 0 {
		t.Error("a pod without accelerators is parked")
	}
}

func TestPreFilterSaysWhatNodesOffer(t *testing.T) {
	migNode := nodeOf("m", map[corev1.ResourceName]int64{mig: 7, "cpu": 64})
	tests := map[string]struct {
		nodes []*corev1.Node
		pod   *corev1.Pod
		want  string
	}{
		"what the pod asks for":            {nodes: []*corev1.Node{migNode, gpuNode("a")}, pod: gpuPod("p")},
		"only what others ask for":         {nodes: []*corev1.Node{migNode, gpuNode("a"), gpuNode("b")}, pod: podOf("p", map[corev1.ResourceName]int64{"nvidia.com/mig-3g.40gb": 1}), want: "no node offers nvidia.com/mig-3g.40gb; nodes offer nvidia.com/gpu on 2, nvidia.com/mig-1g.10gb on 1"},
		"one of two things that it needs":  {nodes: []*corev1.Node{gpuNode("a")}, pod: podOf("p", map[corev1.ResourceName]int64{gpu: 1, mig: 1}), want: "no node offers nvidia.com/mig-1g.10gb; nodes offer nvidia.com/gpu on 1"},
		"no accelerators":                  {nodes: []*corev1.Node{nodeOf("c", map[corev1.ResourceName]int64{"cpu": 64})}, pod: gpuPod("p"), want: "no node offers nvidia.com/gpu, nor any other accelerator"},
		"nothing, for there is no node":    {pod: gpuPod("p"), want: "no node offers nvidia.com/gpu, nor any other accelerator"},
		"a former layout, of which 0 stay": {nodes: []*corev1.Node{nodeOf("a", map[corev1.ResourceName]int64{mig: 0, gpu: 2})}, pod: podOf("p", map[corev1.ResourceName]int64{mig: 1}), want: "no node offers nvidia.com/mig-1g.10gb; nodes offer nvidia.com/gpu on 1"},
		"it, but all are taken out":        {nodes: []*corev1.Node{allocatable(gpuNode("a"), gpu, 0)}, pod: gpuPod("p")},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, test.nodes...)
			_, status := b.PreFilter(t.Context(), &fakeCycle{}, test.pod, b.nodeInfos())
			wantCode := fwk.Success
			if test.want != "" {
				wantCode = fwk.UnschedulableAndUnresolvable
			}
			if status.Code() != wantCode || status.Message() != test.want {
				t.Errorf("%s %q, want %s %q", status.Code(), status.Message(), wantCode, test.want)
			}
			if b.facts.parked.len() > 0 {
				t.Error("parked, although no recovery could help")
			}
		})
	}
}

func TestFilter(t *testing.T) {
	whole := podOf("whole", map[corev1.ResourceName]int64{gpu: 1})
	mixed := nodeOf("a", map[corev1.ResourceName]int64{gpu: 1, mig: 2})
	both := podOf("both", map[corev1.ResourceName]int64{gpu: 1, mig: 1})
	tests := map[string]struct {
		prepare func(b *bench)
		node    *corev1.Node
		pod     *corev1.Pod
		want    string
	}{
		"telemetry knows nothing": {},
		"telemetry is silent":     {prepare: func(b *bench) { b.fleet.mute = true }},
		"all are healthy":         {prepare: func(b *bench) { b.fleet.set(devicesOf("a", healthy, suspect)) }},
		"one has Failed": {
			prepare: func(b *bench) { b.fleet.set(devicesOf("a", healthy, failed)) },
			want:    "unfit devices on a: gpu 1 (GPU-a-1) XID79, needs ReplaceDevice",
		},
		"one has Failed on another node": {prepare: func(b *bench) { b.fleet.set(devicesOf("b", failed)) }},
		"one had Failed when telemetry fell silent": {
			prepare: func(b *bench) { b.fleet.set(devicesOf("a", failed, healthy)); b.fleet.silence = b.facts.staleAfter + 1 },
			want:    "unfit devices on a: gpu 0 (GPU-a-0) XID79, needs ReplaceDevice",
		},
		"one is quarantined while telemetry is down": {
			prepare: func(b *bench) { b.fleet.mute = true; b.quarantines.put(quarantineOf("a", "GPU-a-1")) },
			want:    "unfit devices on a: GPU-a-1 RowRemapFailure, needs ReplaceDevice",
		},
		"two are unfit": {
			prepare: func(b *bench) {
				b.fleet.set(devicesOf("a", failed, healthy))
				b.quarantines.put(quarantineOf("a", "GPU-a-1"))
			},
			want: "unfit devices on a: gpu 0 (GPU-a-0) XID79, needs ReplaceDevice; gpu 1 (GPU-a-1) RowRemapFailure, needs ReplaceDevice",
		},
		"one is released": {prepare: func(b *bench) {
			b.fleet.set(devicesOf("a", failed, healthy))
			b.quarantines.put(quarantineOf("a", "GPU-a-0", released))
		}},
		"the vendor took it out": {
			prepare: func(b *bench) { b.fleet.set(devicesOf("a", failedAndOut, healthy)) }, node: allocatable(gpuNode("a"), gpu, 1),
		},
		"the vendor has yet to take it out": {
			prepare: func(b *bench) { b.fleet.set(devicesOf("a", failedAndOut, healthy)) },
			want:    "unfit devices on a: gpu 0 (GPU-a-0) XID79, needs ReplaceDevice",
		},
		"it is split up and the pod wants a whole one": {
			prepare: func(b *bench) {
				b.fleet.set(devicesOf("a", healthy, func(d *fleet.Device) { failed(d); split("1g.10gb", "1g.10gb")(d) }))
			},
			node: mixed,
		},
		"it is split up, and whole ones stand for its parts": {
			prepare: func(b *bench) {
				b.fleet.set(devicesOf("a", split("1g.10gb"), func(d *fleet.Device) { failed(d); split("1g.10gb")(d) }))
			},
			// A layout of former times stays in the list with 0.
			node: nodeOf("a", map[corev1.ResourceName]int64{gpu: 2, mig: 0}),
			want: "unfit devices on a: gpu 1 (GPU-a-1) XID79, needs ReplaceDevice",
		},
		"a pod that wants both is told once of a device that nobody knows": {
			prepare: func(b *bench) { b.quarantines.put(quarantineOf("a", "GPU-a-1")) }, node: mixed, pod: both,
			want: "unfit devices on a: GPU-a-1 RowRemapFailure, needs ReplaceDevice",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			node, pod := gpuNode("a"), whole
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
			status := b.filter(t, cycle, pod, "a")
			wantCode, wantParked := fwk.Success, 0
			if test.want != "" {
				// Not resolvable: to evict pods does not mend a device.
				wantCode, wantParked = fwk.UnschedulableAndUnresolvable, 1
			}
			if status.Code() != wantCode || status.Message() != test.want {
				t.Errorf("%s %q, want %s %q", status.Code(), status.Message(), wantCode, test.want)
			}
			if got := b.facts.parked.len(); got != wantParked {
				t.Errorf("%d pods are parked, want %d", got, wantParked)
			}
		})
	}
}

func TestACycleWorksFromOneSnapshot(t *testing.T) {
	b := newBench(t, gpuNode("a"), gpuNode("b"))
	pod := gpuPod("p")
	cycle := b.begin(t, pod)
	b.fleet.set(devicesOf("a", failed), devicesOf("b", failed))
	for _, name := range []string{"a", "b"} {
		if status := b.filter(t, cycle, pod, name); !status.IsSuccess() {
			t.Errorf("%s: %v", name, status)
		}
	}
	clone, err := cycle.Read(stateKey)
	if err != nil {
		t.Fatal(err)
	}
	if clone.Clone() != clone {
		t.Error("a preemption's dry run works from another state")
	}
}

func TestFilterWithoutPreFilterIsAnError(t *testing.T) {
	b := newBench(t, gpuNode("a"))
	cycle := &fakeCycle{}
	if status := b.filter(t, cycle, gpuPod("p"), "a"); status.Code() != fwk.Error || !strings.Contains(status.Message(), Name) {
		t.Errorf("Filter says %v", status)
	}
	if _, status := b.Score(t.Context(), cycle, gpuPod("p"), &fakeNodeInfo{node: gpuNode("a")}); status.Code() != fwk.Error {
		t.Errorf("Score says %v", status)
	}
	if status := b.PreScore(t.Context(), cycle, gpuPod("p"), nil); status.Code() != fwk.Error {
		t.Errorf("PreScore says %v", status)
	}
	cycle.Write(stateKey, otherData{})
	if status := b.filter(t, cycle, gpuPod("p"), "a"); status.Code() != fwk.Error {
		t.Errorf("Filter says %v of another's state", status)
	}
}

type otherData struct{}

// Clone returns the data.
func (otherData) Clone() fwk.StateData { return otherData{} }

func TestExtensionsAreLeftOut(t *testing.T) {
	b := newBench(t)
	if b.PreFilterExtensions() != nil {
		t.Error("pods on a node change the answer")
	}
	if diff := cmp.Diff("Accelerators", b.Name()); diff != "" {
		t.Error(diff)
	}
}
