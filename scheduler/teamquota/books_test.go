package teamquota

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"wastenot.dev/api/v1alpha1"
)

// Of a burst only what fits is let through: what is turned away later looks unschedulable
// to an autoscaler.
func TestOfABurstOnlyWhatFitsPasses(t *testing.T) {
	b := newBench(t)
	passed := 0
	for i := range 100 {
		if b.PreEnqueue(t.Context(), pod("a", fmt.Sprint("p", i), 1)).IsSuccess() {
			passed++
		}
	}
	if passed != 3 {
		t.Fatalf("%d pods passed, want 3", passed)
	}
	if !b.PreEnqueue(t.Context(), pod("a", "p0", 1)).IsSuccess() {
		t.Error("one that passed does not pass again")
	}
	// What passed does not keep out what is reserved: that is counted for sure.
	if status := b.Reserve(t.Context(), nil, pod("b", "other", 3), "n"); !status.IsSuccess() {
		t.Errorf("%v, want what was let through not to count at Reserve", status)
	}
}

func TestOneThatFindsNoNodeDoesNotKeepItsTeamOut(t *testing.T) {
	b := newBench(t)
	for _, p := range []*corev1.Pod{pod("a", "stuck", 3), pod("a", "next", 1)} {
		b.PreEnqueue(t.Context(), p)
	}
	b.addPods(pod("a", "stuck", 3), pod("a", "next", 1))
	b.clock.Step(passFor)
	b.lookAround(t.Context())
	if b.woken() != 0 {
		t.Error("it was given up too soon")
	}
	b.clock.Step(time.Second)
	b.lookAround(t.Context())
	if b.woken() != 1 {
		t.Error("the next was not woken")
	}
	if status := b.PreEnqueue(t.Context(), pod("a", "next", 1)); !status.IsSuccess() {
		t.Errorf("%v, want the next let through", status)
	}
}

// addPods puts pods into the scheduler's cache.
func (b *bench) addPods(pods ...*corev1.Pod) {
	b.t.Helper()
	for _, p := range pods {
		if err := b.pods.Add(p); err != nil {
			b.t.Fatal(err)
		}
	}
}

// A binding whose answer was lost may have been stored.
func TestWhatIsBoundStaysCountedWhenItsBindingSeemsToFail(t *testing.T) {
	b := newBench(t)
	p := pod("a", "p", 3)
	b.Reserve(t.Context(), nil, p, "n")
	b.podSeen(onNode(p))
	b.Unreserve(t.Context(), nil, p, "n")
	if status := b.Reserve(t.Context(), nil, pod("a", "q", 1), "n"); status.IsSuccess() {
		t.Error("another pod was let in beside it")
	}
}

// What cannot be counted yet is not counted as nothing.
func TestTheFirstCountWaitsForWhatItDependsOn(t *testing.T) {
	b := newBench(t)
	b.limitDRA("red", 2)
	b.complete.Store(false)
	holder := claiming(onNode(pod("a", "holder", 0)), "c")
	b.addPods(holder)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { b.keep(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	for !b.clock.HasWaiters() {
		time.Sleep(time.Millisecond)
	}
	if b.counted() {
		t.Fatal("the count is complete although a claim could not be read")
	}
	b.claims.add("c")
	b.claims.add("d")
	b.clock.Step(tick)
	for deadline := time.Now().Add(5 * time.Second); !b.counted(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the count never became complete")
		}
	}
	if status := b.Reserve(t.Context(), nil, claiming(pod("a", "p", 0), "d"), "n"); !strings.Contains(status.Message(), "team holds 2 of 2") {
		t.Errorf("%v, want the holder's devices counted", status)
	}
}

func TestAClaimThatIsGoneDoesNotFreeWhatWasCounted(t *testing.T) {
	b := newBench(t)
	b.limitDRA("red", 2)
	b.claims.add("c")
	b.claims.add("d")
	holder := claiming(onNode(pod("a", "holder", 0)), "c")
	b.podSeen(holder)
	b.claims.remove("c")
	b.podSeen(holder)
	if status := b.Reserve(t.Context(), nil, claiming(pod("a", "p", 0), "d"), "n"); status.IsSuccess() {
		t.Error("the holder's devices are free while it runs")
	}
}

// A namespace that changes hands takes along what its pods hold, of the new team's classes.
func TestANamespaceThatChangesHandsIsCountedAgain(t *testing.T) {
	b := newBench(t)
	const fpga = "deviceclass.resource.kubernetes.io/fpga.example.com"
	b.ledgers.set("red", v1alpha1.QuotaLedgerSpec{
		Limits: v1alpha1.QuotaLimits{Classes: map[string]int64{fpga: 3}}, Classes: map[string]v1alpha1.AcceleratorClass{fpga: {Devices: quantity("1")}},
	})
	b.namespace("late", "", v1alpha1.ModeEnforce)
	holder := onNode(pod("late", "holder", 0))
	holder.Spec.Containers[0].Resources.Requests[fpga] = quantity("3")
	b.addPods(holder)
	b.podSeen(holder)
	informer := &fakeInformer{}
	if err := b.watchNamespaces(informer); err != nil {
		t.Fatal(err)
	}
	before, _ := b.Plugin.namespaces.get("late")
	b.namespace("late", "red", v1alpha1.ModeEnforce)
	after, _ := b.Plugin.namespaces.get("late")
	informer.handler.OnUpdate(before, after)
	p := pod("a", "p", 0)
	p.Spec.Containers[0].Resources.Requests[fpga] = quantity("1")
	if status := b.Reserve(t.Context(), nil, p, "n"); !strings.Contains(status.Message(), "team holds 3 of 3") {
		t.Errorf("%v, want the holder counted", status)
	}
}

// A namespace that is seen after its pods has them looked at.
func TestANamespaceThatComesLateWakesItsPods(t *testing.T) {
	b := newBench(t)
	if status := b.PreEnqueue(t.Context(), pod("new", "p", 1)); !status.IsRejected() {
		t.Fatal("it was let through")
	}
	informer := &fakeInformer{}
	if err := b.watchNamespaces(informer); err != nil {
		t.Fatal(err)
	}
	b.namespace("new", "red", v1alpha1.ModeEnforce)
	added, _ := b.Plugin.namespaces.get("new")
	informer.handler.OnAdd(added, false)
	if b.woken() != 1 {
		t.Error("its pod was not woken")
	}
}

func TestWhoWaitsAndIsGoneIsForgotten(t *testing.T) {
	b := newBench(t)
	b.addPods(pod("a", "here", 9))
	for _, name := range []string{"here", "gone"} {
		b.PreEnqueue(t.Context(), pod("a", name, 9))
	}
	b.lookAround(t.Context())
	if held := b.parked.len(); held != 1 {
		t.Errorf("%d pods are held, want the one that is there", held)
	}
}

func TestWhatDoesNotComeOnTakesNoPlace(t *testing.T) {
	t.Run("a pod with a gate", func(t *testing.T) {
		b := newBench(t)
		gated := pod("a", "gated", 3)
		gated.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/wait"}}
		b.PreEnqueue(t.Context(), gated)
		if status := b.PreEnqueue(t.Context(), pod("a", "p", 3)); !status.IsSuccess() {
			t.Errorf("%v, want the other let through", status)
		}
	})
	t.Run("a pod whose claim is not there yet", func(t *testing.T) {
		b := newBench(t)
		b.PreEnqueue(t.Context(), claiming(pod("a", "waits", 3), "c"))
		if status := b.PreEnqueue(t.Context(), pod("a", "p", 3)); !status.IsSuccess() {
			t.Errorf("%v, want the other let through", status)
		}
	})
	t.Run("a pod that was turned away", func(t *testing.T) {
		b := newBench(t)
		b.PreEnqueue(t.Context(), pod("a", "p", 3))
		b.podSeen(onNode(pod("b", "first", 3)))
		if status := b.Reserve(t.Context(), nil, pod("a", "p", 3), "n"); status.IsSuccess() {
			t.Fatal("it was let in")
		}
		b.podGone(onNode(pod("b", "first", 3)))
		if status := b.PreEnqueue(t.Context(), pod("a", "q", 3)); !status.IsSuccess() {
			t.Errorf("%v, want the other let through", status)
		}
	})
}
