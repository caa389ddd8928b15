package scheduler

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"wastenot.dev/internal/fleet"
)

func TestReserveAndPreBindJudgeTheNodeAgain(t *testing.T) {
	tests := map[string]struct {
		// meanwhile is what happens between the cycle's begin and the last look.
		meanwhile func(b *bench)
		want      string
	}{
		"nothing has changed": {meanwhile: func(*bench) {}},
		"a device has Failed": {
			meanwhile: func(b *bench) { b.fleet.set(devicesOf("a", healthy, failed)) },
			want:      "unfit devices on a: gpu 1 (GPU-a-1) XID79, needs ReplaceDevice",
		},
		"a device was quarantined": {
			meanwhile: func(b *bench) { b.quarantines.put(quarantineOf("a", "GPU-a-1")) },
			want:      "unfit devices on a: GPU-a-1 RowRemapFailure, needs ReplaceDevice",
		},
		"the vendor took out what had Failed": {
			meanwhile: func(b *bench) {
				b.fleet.set(devicesOf("a", healthy, failedAndOut))
				b.nodes["a"] = allocatable(b.nodes["a"], gpu, 1)
			},
		},
		"the vendor took it back": {
			meanwhile: func(b *bench) { b.fleet.set(devicesOf("a", healthy, failedAndOut)) },
			want:      "unfit devices on a: gpu 1 (GPU-a-1) XID79, needs ReplaceDevice",
		},
	}
	points := map[string]func(b *bench, t *testing.T, cycle fwk.CycleState, pod *corev1.Pod) *fwk.Status{
		"Reserve": func(b *bench, t *testing.T, cycle fwk.CycleState, pod *corev1.Pod) *fwk.Status {
			return b.Reserve(t.Context(), cycle, pod, "a")
		},
		"PreBind": func(b *bench, t *testing.T, cycle fwk.CycleState, pod *corev1.Pod) *fwk.Status {
			return b.PreBind(t.Context(), cycle, pod, "a")
		},
	}
	for name, test := range tests {
		for point, look := range points {
			t.Run(point+": "+name, func(t *testing.T) {
				b := newBench(t, gpuNode("a"))
				pod := gpuPod("p")
				cycle := b.begin(t, pod)
				test.meanwhile(b)
				status := look(b, t, cycle, pod)
				if status.Message() != test.want || status.IsRejected() != (test.want != "") {
					t.Errorf("%v, want %q", status, test.want)
				}
				if rejected := b.facts.parked.len() == 1; rejected != (test.want != "") {
					t.Errorf("parked: %t", rejected)
				}
				if reserved := b.facts.book.len() == 1; reserved != (test.want == "" && point == "Reserve") {
					t.Errorf("in the book: %t", reserved)
				}
			})
		}
	}
}

func TestReserveAndUnreserveKeepTheBook(t *testing.T) {
	b := newBench(t, gpuNode("a"))
	pod := gpuPod("p")
	b.facts.parked.add(pod)
	cycle := b.begin(t, pod)
	if status := b.Reserve(t.Context(), cycle, pod, "a"); !status.IsSuccess() {
		t.Fatal(status)
	}
	if b.facts.book.len() != 1 || b.facts.parked.len() != 0 {
		t.Errorf("%d in the book and %d parked, want 1 and 0", b.facts.book.len(), b.facts.parked.len())
	}
	b.Unreserve(t.Context(), cycle, pod, "a")
	b.Unreserve(t.Context(), cycle, pod, "a") // It may come twice.
	if b.facts.book.len() != 0 {
		t.Errorf("%d in the book, want 0", b.facts.book.len())
	}
}

func TestReserveOnANodeThatIsGone(t *testing.T) {
	b := newBench(t, gpuNode("a"))
	cycle := b.begin(t, gpuPod("p"))
	if status := b.Reserve(t.Context(), cycle, gpuPod("p"), "b"); status.Code() != fwk.Error {
		t.Errorf("%v, want an error", status)
	}
	if b.facts.book.len() != 0 {
		t.Error("it is in the book")
	}
}

func TestPreBindIsSkippedWhereNothingIsWaitedFor(t *testing.T) {
	volume := func(source corev1.VolumeSource) func(*corev1.Pod) {
		return func(pod *corev1.Pod) { pod.Spec.Volumes = []corev1.Volume{{VolumeSource: source}} }
	}
	tests := map[string]struct {
		change   func(*corev1.Pod)
		onPermit bool
		want     fwk.Code
	}{
		"a plain pod":                 {change: func(*corev1.Pod) {}, want: fwk.Skip},
		"a pod with a file":           {change: volume(corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{}}), want: fwk.Skip},
		"a pod with a volume":         {change: volume(corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{}})},
		"a volume of its own":         {change: volume(corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}})},
		"a pod with a claim":          {change: func(pod *corev1.Pod) { pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "nic"}} }},
		"a pod that waits for others": {change: func(*corev1.Pod) {}, onPermit: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, gpuNode("a"))
			pod := gpuPod("p")
			test.change(pod)
			b.onPermit[pod.UID] = test.onPermit
			result, status := b.PreBindPreFlight(t.Context(), b.begin(t, pod), pod, "a")
			if status.Code() != test.want {
				t.Fatalf("%v, want %v", status, test.want)
			}
			if test.want == fwk.Success && !result.AllowParallel {
				t.Error("other plugins have to wait for it")
			}
		})
	}
}

func TestSignPod(t *testing.T) {
	sign := func(t *testing.T, b *bench, pod *corev1.Pod) []fwk.SignFragment {
		t.Helper()
		fragments, status := b.SignPod(t.Context(), pod)
		if !status.IsSuccess() {
			t.Fatal(status)
		}
		return fragments
	}
	tests := map[string]struct {
		change   func(b *bench)
		pod      *corev1.Pod
		wantSame bool
	}{
		"an equal pod":           {wantSame: true},
		"a pod that wants two":   {pod: podOf("q", map[corev1.ResourceName]int64{gpu: 2})},
		"a pod that wants other": {pod: podOf("q", map[corev1.ResourceName]int64{mig: 1})},
		"a grade has changed":    {change: func(b *bench) { b.facts.fleetChanged(b.fleet.set(devicesOf("a", suspect))) }},
		"a set of equal grades": {change: func(b *bench) {
			b.facts.fleetChanged(b.fleet.set(devicesOf("a", func(d *fleet.Device) { d.Activity = "Busy" })))
		}, wantSame: true},
		"a quarantine has come":     {change: func(b *bench) { b.facts.quarantinesChanged(b.quarantines.put(quarantineOf("a", "GPU-1"))) }},
		"telemetry fell silent":     {change: func(b *bench) { b.fleet.mute = true }},
		"time passed in its budget": {change: func(b *bench) { b.fleet.silence = b.facts.staleAfter }, wantSame: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.fleet.set(devicesOf("a", healthy))
			before := sign(t, b, gpuPod("p"))
			pod := gpuPod("q")
			if test.pod != nil {
				pod = test.pod
			}
			if test.change != nil {
				test.change(b)
			}
			after := sign(t, b, pod)
			if len(before) != 1 || len(after) != 1 {
				t.Fatalf("%d and %d fragments, want 1", len(before), len(after))
			}
			if diff := cmp.Diff(before, after); (diff == "") != test.wantSame {
				t.Errorf("signed alike: %t (-before +after):\n%s", diff == "", diff)
			}
		})
	}
	if fragments := sign(t, newBench(t), cpuPod("c")); fragments != nil {
		t.Errorf("a pod without accelerators is signed: %v", fragments)
	}
}
