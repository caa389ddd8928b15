package teamquota

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"

	"wastenot.dev/api/v1alpha1"
)

func TestWhoIsHeld(t *testing.T) {
	tests := map[string]struct {
		// before is what has happened.
		before func(b *bench)
		pod    *corev1.Pod
		want   string
	}{
		"it fits":                           {pod: pod("a", "p", 3)},
		"more than the limit":               {pod: pod("a", "p", 4), want: "team red is full: wants 4 nvidia.com/gpu, team holds 0 of 3; the pod waits until it fits"},
		"no accelerator":                    {pod: pod("a", "p", 0)},
		"a namespace that does not enforce": {pod: pod("watching", "p", 9)},
		"a namespace that is not known yet": {pod: pod("new", "p", 1), want: "namespace new is not known to the scheduler yet"},
		"no accelerator in a namespace that is not known yet": {pod: pod("new", "p", 0)},
		"what is bound counts": {
			before: func(b *bench) { b.podSeen(onNode(pod("a", "x", 2))) },
			pod:    pod("a", "p", 2), want: "team red is full: wants 2 nvidia.com/gpu, team holds 2 of 3; the pod waits until it fits",
		},
		"what other namespaces of the team hold counts": {
			before: func(b *bench) { b.podSeen(onNode(pod("b", "x", 1))); b.podSeen(onNode(pod("watching", "y", 1))) },
			pod:    pod("a", "p", 2), want: "team red is full: wants 2 nvidia.com/gpu, team holds 2 of 3; the pod waits until it fits",
		},
		"what other teams hold does not": {
			before: func(b *bench) { b.podSeen(onNode(pod("c", "x", 9))) }, pod: pod("a", "p", 3),
		},
		"what has ended does not": {
			before: func(b *bench) {
				x := onNode(pod("a", "x", 3))
				b.podSeen(x)
				x = x.DeepCopy()
				x.Status.Phase = corev1.PodSucceeded
				b.podSeen(x)
			},
			pod: pod("a", "p", 3),
		},
		"what is gone does not": {
			before: func(b *bench) { b.podSeen(onNode(pod("a", "x", 3))); b.podGone(onNode(pod("a", "x", 3))) }, pod: pod("a", "p", 3),
		},
		"what is reserved counts": {
			before: func(b *bench) { b.Reserve(b.t.Context(), nil, pod("b", "x", 3), "n") },
			pod:    pod("a", "p", 1), want: "team red is full: wants 1 nvidia.com/gpu, team holds 3 of 3; the pod waits until it fits",
		},
		"what was reserved and is not bound yet still counts": {
			before: func(b *bench) { x := pod("b", "x", 3); b.Reserve(b.t.Context(), nil, x, "n"); b.podSeen(x) },
			pod:    pod("a", "p", 1), want: "team red is full: wants 1 nvidia.com/gpu, team holds 3 of 3; the pod waits until it fits",
		},
		"what waits does not": {
			before: func(b *bench) { b.podSeen(pod("b", "x", 3)) }, pod: pod("a", "p", 3),
		},
		"what was given back does not": {
			before: func(b *bench) {
				b.Reserve(b.t.Context(), nil, pod("b", "x", 3), "n")
				b.Unreserve(b.t.Context(), nil, pod("b", "x", 3), "n")
			},
			pod: pod("a", "p", 3),
		},
		"its own reservation does not count against it": {
			before: func(b *bench) { b.Reserve(b.t.Context(), nil, pod("a", "p", 3), "n") }, pod: pod("a", "p", 3),
		},
		"pods of namespaces that do not enforce are counted once reserved": {
			before: func(b *bench) { b.Reserve(b.t.Context(), nil, pod("watching", "x", 3), "n") },
			pod:    pod("a", "p", 1), want: "team red is full: wants 1 nvidia.com/gpu, team holds 3 of 3; the pod waits until it fits",
		},
		"no team": {
			before: func(b *bench) { b.namespace("a", "", v1alpha1.ModeEnforce) },
			pod:    pod("a", "p", 1), want: "namespace a has no team: ask a cluster administrator to set its label wastenot.dev/team",
		},
		"a team without a ledger": {
			before: func(b *bench) { b.namespace("a", "green", v1alpha1.ModeEnforce) },
			pod:    pod("a", "p", 1), want: "team green has no QuotaLedger: is it in ConfigMap wastenot-quota, and does wastenot-webhook run?",
		},
		"not everything is counted yet": {
			before: func(b *bench) { b.complete.Store(false) }, pod: pod("a", "p", 1), want: "the pods that hold accelerators have not been counted yet",
		},
		"a claim counts": {
			before: func(b *bench) { b.claims.add("c"); b.limitDRA("red", 1) }, pod: claiming(pod("a", "p", 0), "c"),
			want: "team red is full: wants 2 deviceclass.resource.kubernetes.io/gpu.nvidia.com, team holds 0 of 1; the pod waits until it fits",
		},
	}
	for name, test := range tests {
		for _, point := range []string{"PreEnqueue", "Reserve"} {
			t.Run(point+": "+name, func(t *testing.T) {
				b := newBench(t)
				if test.before != nil {
					test.before(b)
				}
				status := b.PreEnqueue(t.Context(), test.pod)
				if point == "Reserve" {
					status = b.Reserve(t.Context(), nil, test.pod, "n")
				}
				if status.Message() != test.want || status.IsSuccess() != (test.want == "") {
					t.Errorf("%v, want %q", status, test.want)
				}
				// An autoscaler buys nodes for what is unschedulable.
				if point == "Reserve" && status.IsRejected() {
					t.Errorf("%v, want no pod called unschedulable for quota", status)
				}
				if held := b.parked.len() == 1; held != (test.want != "") {
					t.Errorf("parked: %t", held)
				}
			})
		}
	}
}

// limitDRA gives a team devices of the class instead of GPUs.
func (b *bench) limitDRA(team string, devices int64) {
	b.ledgers.set(team, v1alpha1.QuotaLedgerSpec{Limits: v1alpha1.QuotaLimits{
		Classes: map[string]int64{"deviceclass.resource.kubernetes.io/gpu.nvidia.com": devices},
	}})
}

func TestClaimsThatAreNotThereYet(t *testing.T) {
	b := newBench(t)
	p := claiming(pod("a", "p", 0), "c")
	if status := b.PreEnqueue(t.Context(), p); !status.IsSuccess() {
		t.Errorf("PreEnqueue: %v, want it left to the plugin that waits for claims", status)
	}
	if status := b.Reserve(t.Context(), nil, p, "n"); !strings.Contains(status.Message(), "what the pod asks for cannot be counted: claim c") {
		t.Errorf("Reserve: %v, want it turned away: nothing uncounted is bound", status)
	}
}

func TestEveryWayToRoomWakesTheTeam(t *testing.T) {
	ways := map[string]struct {
		happen func(b *bench)
		want   int
	}{
		"a pod ends": {happen: func(b *bench) { b.podGone(onNode(pod("b", "x", 3))) }, want: 1},
		"a pod is not bound after all": {
			happen: func(b *bench) {
				b.Reserve(b.t.Context(), nil, pod("watching", "w", 1), "n")
				b.Unreserve(b.t.Context(), nil, pod("watching", "w", 1), "n")
			},
			want: 1,
		},
		"the ledger changes":                 {happen: func(b *bench) { b.ledgerChanged("red") }, want: 1},
		"a namespace changes":                {happen: func(b *bench) { b.wake("", "test") }, want: 1},
		"a pod of another team ends":         {happen: func(b *bench) { b.podGone(onNode(pod("c", "y", 1))) }},
		"another team's ledger changes":      {happen: func(b *bench) { b.ledgerChanged("blue") }},
		"a pod that was not counted is gone": {happen: func(b *bench) { b.podGone(pod("b", "z", 1)) }},
		"a waiting pod is deleted":           {happen: func(b *bench) { b.podGone(pod("a", "p", 1)) }},
	}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.podSeen(onNode(pod("b", "x", 3)))
			b.podSeen(onNode(pod("c", "y", 1)))
			if status := b.PreEnqueue(t.Context(), pod("a", "p", 1)); !status.IsRejected() {
				t.Fatalf("%v, want it held", status)
			}
			way.happen(b)
			if got := b.woken(); got != way.want {
				t.Errorf("%d pods woken, want %d", got, way.want)
			}
		})
	}
}

func TestAPodIsToldOnceWhyItWaits(t *testing.T) {
	b := newBench(t)
	for range 3 {
		b.PreEnqueue(t.Context(), pod("a", "p", 4))
	}
	b.podSeen(onNode(pod("b", "x", 1)))
	b.PreEnqueue(t.Context(), pod("a", "p", 4))
	if got, want := fmt.Sprint(b.events), "[QuotaExceeded p QuotaExceeded p]"; got != want {
		t.Errorf("events %s, want %s: one for each reason", got, want)
	}
}

// TestNoReasonVanishesBehindAnother: an Event that a pod already has is only counted, under
// its first message, so reasons of different kinds must not look alike to the recorder.
func TestNoReasonVanishesBehindAnother(t *testing.T) {
	api := fake.NewClientset()
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: api.EventsV1()})
	if err := broadcaster.StartRecordingToSinkWithContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer broadcaster.Shutdown()
	b := newBench(t)
	b.recorder = broadcaster.NewRecorder(scheme.Scheme, "test")
	held := pod("a", "p", 4)

	b.PreEnqueue(t.Context(), held)
	b.complete.Store(false)
	b.PreEnqueue(t.Context(), held)
	b.complete.Store(true)
	b.ledgers.set("red", v1alpha1.QuotaLedgerSpec{ConfigHash: "h", Limits: v1alpha1.QuotaLimits{Devices: ptr.To(quantity("3"))}})
	b.PreEnqueue(t.Context(), held)
	b.namespace("a", "", v1alpha1.ModeEnforce)
	b.PreEnqueue(t.Context(), held)

	want := []string{
		"ask a cluster administrator to set its label", "have not been counted yet", "wants 4 devices", "wants 4 nvidia.com/gpu",
	}
	err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, 10*time.Second, true, func(ctx context.Context) (bool, error) {
		list, err := api.EventsV1().Events("a").List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		return !slices.ContainsFunc(want, func(text string) bool {
			return !slices.ContainsFunc(list.Items, func(e eventsv1.Event) bool { return strings.Contains(e.Note, text) })
		}), nil
	})
	if err != nil {
		t.Errorf("not all of %q were told: %v", want, err)
	}
}

// TestReserveIsOneStep: of pods that arrive together no more are counted in than fit.
func TestReserveIsOneStep(t *testing.T) {
	b := newBench(t)
	var together sync.WaitGroup
	passed := make(chan string, 100)
	for i := range 100 {
		together.Go(func() {
			name := fmt.Sprintf("p%d", i)
			if b.Reserve(t.Context(), nil, pod("a", name, 1), "n").IsSuccess() {
				passed <- name
			}
		})
	}
	together.Wait()
	if len(passed) != 3 {
		t.Errorf("%d pods passed, want 3", len(passed))
	}
}

// TestRoomMadeDuringTheLookIsNotMissed: whoever makes room between the look and the
// parking wakes nobody, so the look is taken again.
func TestRoomMadeDuringTheLookIsNotMissed(t *testing.T) {
	b := newBench(t)
	b.podSeen(onNode(pod("b", "x", 3)))
	looks := 0
	b.ledgers.hook = func() {
		switch looks++; looks {
		case 1:
			b.changes.Add(1) // Somebody makes room and finds nobody waiting.
		case 2:
			b.usage.remove(pod("b", "x", 3).UID)
		}
	}
	if status := b.PreEnqueue(t.Context(), pod("a", "p", 1)); !status.IsSuccess() {
		t.Errorf("%v, want the second look to let it through", status)
	}
	if looks != 2 || b.parked.len() != 0 {
		t.Errorf("%d looks, %d parked, want 2 and 0", looks, b.parked.len())
	}
}

// TestRoomMadeDuringReserveIsNotMissed: the pod was not parked when its team was woken, so
// it is woken alone; the queue keeps that for a pod whose cycle is not over.
func TestRoomMadeDuringReserveIsNotMissed(t *testing.T) {
	for happens, want := range map[bool]int{true: 1, false: 0} {
		b := newBench(t)
		b.podSeen(onNode(pod("b", "x", 3)))
		b.ledgers.hook = func() {
			if happens {
				b.wake("red", "test")
			}
		}
		if status := b.Reserve(t.Context(), nil, pod("a", "p", 1), "n"); status.IsSuccess() {
			t.Fatalf("%v, want it turned away", status)
		}
		if got := b.woken(); got != want {
			t.Errorf("room made meanwhile: %t; woken %d times, want %d", happens, got, want)
		}
	}
}

func TestWhatAnotherSchedulerPlacedWaitsNoMore(t *testing.T) {
	b := newBench(t)
	p := pod("a", "p", 4)
	b.PreEnqueue(t.Context(), p)
	b.podSeen(onNode(p))
	if held := b.parked.len(); held != 0 {
		t.Errorf("%d pods are held, want 0", held)
	}
}

func TestAnotherConfigurationCountsBoundPodsAgain(t *testing.T) {
	b := newBench(t)
	const fpga = "deviceclass.resource.kubernetes.io/fpga.example.com"
	x := onNode(pod("a", "x", 0))
	x.Spec.Containers[0].Resources.Requests[fpga] = resource.MustParse("2")
	if err := b.pods.Add(x); err != nil {
		t.Fatal(err)
	}
	b.podSeen(x)
	spec := v1alpha1.QuotaLedgerSpec{
		ConfigHash: "other", Limits: v1alpha1.QuotaLimits{Devices: resource.NewQuantity(3, resource.DecimalSI)},
		Classes: map[string]v1alpha1.AcceleratorClass{fpga: {Devices: resource.MustParse("1")}},
	}
	b.ledgers.set("red", spec)
	b.ledgerChanged("red")
	if status := b.PreEnqueue(t.Context(), pod("a", "p", 2)); !strings.Contains(status.Message(), "wants 2 devices, team holds 2 of 3") {
		t.Errorf("%v, want the two devices of the class counted", status)
	}
}

func TestArgsAreRefused(t *testing.T) {
	if _, err := (&Factory{}).New(t.Context(), &runtime.Unknown{Raw: []byte(`{"x":1}`)}, nil); err == nil || !strings.Contains(err.Error(), "takes no args") {
		t.Errorf("error %v", err)
	}
}
