package simnode

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
)

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// testFleet decides but writes nowhere: no client, no workers.
func testFleet(t *testing.T, adopt ...Assignment) (*Fleet, *clocktesting.FakeClock) {
	t.Helper()
	clock := clocktesting.NewFakeClock(epoch)
	f := newFleet(nil, []Node{testNode()}, Options{Clock: clock, Adopt: adopt})
	t.Cleanup(f.queue.ShutDown)
	return f, clock
}

func deleted(pod *corev1.Pod, graceSeconds int64) *corev1.Pod {
	pod = pod.DeepCopy()
	pod.DeletionTimestamp = ptr.To(metav1.NewTime(epoch))
	pod.DeletionGracePeriodSeconds = &graceSeconds
	return pod
}

func TestPodLife(t *testing.T) {
	tests := map[string]struct {
		annotations map[string]string
		script      func(*Fleet, *clocktesting.FakeClock, *corev1.Pod)
		wantPhase   corev1.PodPhase // of the next write; empty: nothing to write
		wantReason  string
		wantHeld    int
		wantRemove  bool
		wantEvent   bool
	}{
		"runs as soon as it is seen": {
			script:    func(*Fleet, *clocktesting.FakeClock, *corev1.Pod) {},
			wantPhase: corev1.PodRunning, wantHeld: 2,
		},
		"is decided on once, however often it is seen": {
			script: func(f *Fleet, _ *clocktesting.FakeClock, pod *corev1.Pod) {
				f.observe(pod)
				f.observe(pod)
			},
			wantPhase: corev1.PodRunning, wantHeld: 2,
		},
		"runs until its time is over": {
			annotations: map[string]string{RunFor: "3s"},
			script:      func(_ *Fleet, c *clocktesting.FakeClock, _ *corev1.Pod) { c.Step(2999 * time.Millisecond) },
			wantPhase:   corev1.PodRunning, wantHeld: 2,
		},
		"succeeds when its time is over": {
			annotations: map[string]string{RunFor: "3s"},
			script:      func(_ *Fleet, c *clocktesting.FakeClock, _ *corev1.Pod) { c.Step(3 * time.Second) },
			wantPhase:   corev1.PodSucceeded,
		},
		"is refused with a duration that cannot be read": {
			annotations: map[string]string{RunFor: "soon"},
			script:      func(*Fleet, *clocktesting.FakeClock, *corev1.Pod) {},
			wantPhase:   corev1.PodFailed, wantReason: reasonInvalidAnnotation, wantEvent: true,
		},
		"frees its devices and goes when it is deleted": {
			script:    func(f *Fleet, _ *clocktesting.FakeClock, pod *corev1.Pod) { f.observe(deleted(pod, 30)) },
			wantPhase: corev1.PodFailed, wantRemove: true,
		},
		"keeps its devices while it stops": {
			annotations: map[string]string{StopFor: "5s"},
			script: func(f *Fleet, c *clocktesting.FakeClock, pod *corev1.Pod) {
				f.observe(deleted(pod, 30))
				c.Step(4 * time.Second)
			},
			wantPhase: corev1.PodRunning, wantHeld: 2,
		},
		"stops no longer than its grace period": {
			annotations: map[string]string{StopFor: "5m"},
			script: func(f *Fleet, c *clocktesting.FakeClock, pod *corev1.Pod) {
				f.observe(deleted(pod, 30))
				c.Step(30 * time.Second)
			},
			wantPhase: corev1.PodFailed, wantRemove: true,
		},
		"succeeds if it completes before it is stopped": {
			annotations: map[string]string{RunFor: "3s", StopFor: "5s"},
			script: func(f *Fleet, c *clocktesting.FakeClock, pod *corev1.Pod) {
				f.observe(deleted(pod, 30))
				c.Step(4 * time.Second)
			},
			wantPhase: corev1.PodSucceeded, wantRemove: true,
		},
		"frees its devices when somebody else ends it": {
			script: func(f *Fleet, _ *clocktesting.FakeClock, pod *corev1.Pod) {
				pod = pod.DeepCopy()
				pod.Status.Phase = corev1.PodFailed
				f.observe(pod)
			},
		},
		"frees its devices when it vanishes": {
			script: func(f *Fleet, _ *clocktesting.FakeClock, pod *corev1.Pod) { f.forget(pod) },
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f, clock := testFleet(t)
			pod := testPod("p", want(gpu, "2"))
			pod.Annotations = test.annotations
			f.observe(pod)
			test.script(f, clock, pod)

			do := f.nextErrand(pod.UID)
			var phase corev1.PodPhase
			var reason string
			if do.status != nil {
				phase, reason = do.status.Phase, do.status.Reason
			}
			if phase != test.wantPhase || reason != test.wantReason {
				t.Errorf("writes phase %q reason %q, want %q %q", phase, reason, test.wantPhase, test.wantReason)
			}
			if do.remove != test.wantRemove || (do.event != nil) != test.wantEvent {
				t.Errorf("remove %t event %v, want %t %t", do.remove, do.event, test.wantRemove, test.wantEvent)
			}
			if held := len(f.Holders("n1")); held != test.wantHeld {
				t.Errorf("%d devices are held, want %d", held, test.wantHeld)
			}
			for _, assignment := range f.Assignments() {
				if assignment.ReleasedAt.IsZero() != (test.wantHeld > 0) {
					t.Errorf("released at %v, but %d devices are held", assignment.ReleasedAt, test.wantHeld)
				}
			}
		})
	}
}

func TestPodOfAnotherFleetIsIgnored(t *testing.T) {
	f, _ := testFleet(t)
	pod := testPod("p", want(gpu, "1"))
	pod.Spec.NodeName = "elsewhere"
	f.observe(pod)
	if do := f.nextErrand(pod.UID); do.status != nil || do.remove || len(f.Assignments()) != 0 {
		t.Errorf("got %+v and %v, want nothing", do, f.Assignments())
	}
}

func TestPublishedStatus(t *testing.T) {
	f, _ := testFleet(t)
	pod := withInit(withInit(testPod("p", want(gpu, "2"), nil), "init", false, nil), "sidecar", true, want(gpu, "1"))
	f.observe(pod)
	status := f.nextErrand(pod.UID).status
	var ids []string
	for _, assignment := range f.Assignments() {
		if assignment.Container == "c0" {
			ids = slices.Sorted(slices.Values(assignment.IDs))
		}
	}
	f.pods[pod.UID].written = f.pods[pod.UID].revision // as a worker does
	if err := f.SetDeviceHealth("n1", ids[1], false); err != nil {
		t.Fatal(err)
	}
	wantResources := []corev1.ResourceStatus{{Name: gpu, Resources: []corev1.ResourceHealth{
		{ResourceID: corev1.ResourceID(ids[0]), Health: corev1.ResourceHealthStatusHealthy},
		{ResourceID: corev1.ResourceID(ids[1]), Health: corev1.ResourceHealthStatusUnhealthy},
	}}}
	after := f.nextErrand(pod.UID).status
	if after == nil {
		t.Fatal("nothing to write after a change of health")
	}
	if diff := cmp.Diff(wantResources, after.ContainerStatuses[0].AllocatedResourcesStatus); diff != "" {
		t.Errorf("allocated (-want +got):\n%s", diff)
	}
	if got := after.InitContainerStatuses[1].AllocatedResourcesStatus; got != nil {
		t.Errorf("the sidecar publishes %v; no kubelet does", got)
	}
	init, sidecar := status.InitContainerStatuses[0], status.InitContainerStatuses[1]
	if init.State.Terminated == nil || sidecar.State.Running == nil || status.ContainerStatuses[1].State.Running == nil {
		t.Errorf("init %+v, sidecar %+v, app %+v: want ended, running, running", init.State, sidecar.State, status.ContainerStatuses[1].State)
	}
}

func TestAdoption(t *testing.T) {
	running := testPod("p", want(gpu, "2"))
	running.Status.Phase = corev1.PodRunning
	running.Status.StartTime = ptr.To(metav1.NewTime(epoch.Add(-time.Hour)))
	withIDs := running.DeepCopy()
	withIDs.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c0", AllocatedResourcesStatus: []corev1.ResourceStatus{
		{Name: gpu, Resources: []corev1.ResourceHealth{{ResourceID: "g1"}, {ResourceID: "g3"}}},
	}}}
	record := Assignment{Pod: refOf(running), Node: "n1", Container: "c0", Resource: string(gpu), IDs: []string{"g0", "g2"}}
	over := record
	over.ReleasedAt = epoch
	tests := map[string]struct {
		pod     *corev1.Pod
		record  []Assignment
		wantIDs []string
	}{
		"from the status":                       {pod: withIDs, wantIDs: []string{"g1", "g3"}},
		"from the record":                       {pod: running, record: []Assignment{record}, wantIDs: []string{"g0", "g2"}},
		"the record beats the status":           {pod: withIDs, record: []Assignment{record}, wantIDs: []string{"g0", "g2"}},
		"a record that is over does not count":  {pod: withIDs, record: []Assignment{over}, wantIDs: []string{"g1", "g3"}},
		"nothing is known of an earlier device": {pod: running},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f, _ := testFleet(t)
			waiting := testPod("w", want(gpu, "2"))
			for _, pod := range []*corev1.Pod{waiting, test.pod} { // the waiting one first
				if err := f.informer.GetStore().Add(pod); err != nil {
					t.Fatal(err)
				}
			}
			if err := f.takeUp(test.record); err != nil {
				t.Fatal(err)
			}
			var ids []string
			for id, holder := range f.Holders("n1") {
				if holder.UID == running.UID {
					ids = append(ids, id)
				}
			}
			slices.Sort(ids)
			if diff := cmp.Diff(test.wantIDs, ids); diff != "" {
				t.Errorf("holds (-want +got):\n%s", diff)
			}
			if do := f.nextErrand(waiting.UID); do.status.Phase != corev1.PodRunning {
				t.Errorf("the waiting pod is %s, want Running on what is left", do.status.Phase)
			}
		})
	}
}

func TestAdoptionRefusesTwoHolders(t *testing.T) {
	f, _ := testFleet(t)
	var record []Assignment
	for _, name := range []string{"p", "q"} {
		pod := testPod(name, want(gpu, "1"))
		pod.Status.Phase = corev1.PodRunning
		if err := f.informer.GetStore().Add(pod); err != nil {
			t.Fatal(err)
		}
		record = append(record, Assignment{Pod: refOf(pod), Container: "c0", Resource: string(gpu), IDs: []string{"g0"}})
	}
	if err := f.takeUp(record); err == nil {
		t.Error("two pods hold g0 and nobody complains")
	}
}

func TestOnChange(t *testing.T) {
	f, _ := testFleet(t)
	calls := 0
	f.onChange = func(node string) {
		f.Holders(node) // would hang if a lock were held
		calls++
	}
	pod := testPod("p", want(gpu, "1"))
	f.observe(pod)
	f.observe(pod)
	f.observe(testPod("no-devices", nil))
	if calls != 1 {
		t.Errorf("%d calls after one admission, want 1", calls)
	}
	for range 2 {
		if err := f.SetDeviceHealth("n1", "g0", false); err != nil {
			t.Fatal(err)
		}
	}
	if calls != 2 {
		t.Errorf("%d calls after one change of health, want 2", calls)
	}
	f.observe(deleted(pod, 0))
	f.nextErrand(pod.UID)
	if calls != 3 {
		t.Errorf("%d calls after the end of the pod, want 3", calls)
	}
}

func TestSetDeviceHealthOfWhatIsNotThere(t *testing.T) {
	f, _ := testFleet(t)
	if f.SetDeviceHealth("n1", "gone", true) == nil || f.SetDeviceHealth("gone", "g0", true) == nil {
		t.Error("an unknown node or device is no error")
	}
	if f.Holders("gone") != nil || f.Devices("gone") != nil {
		t.Error("an unknown node has holders or devices")
	}
}
