package scheduler

import (
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"wastenot.dev/internal/fleet"
)

// TestAPodIsTriedOnAllNodesAfterItsShortList until it has a node or is gone.
func TestAPodIsTriedOnAllNodesAfterItsShortList(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		end func(b *bench, t *testing.T, pod *corev1.Pod, cycle fwk.CycleState, pods *handlers)
		// want tells that the list is short again.
		want bool
	}{
		"nothing happens": {end: func(*bench, *testing.T, *corev1.Pod, fwk.CycleState, *handlers) {}},
		"it is tried in vain": {end: func(b *bench, t *testing.T, pod *corev1.Pod, cycle fwk.CycleState, _ *handlers) {
			if _, status := b.PostFilter(t.Context(), cycle, pod, nil); status.Code() != fwk.Unschedulable {
				t.Errorf("after all nodes PostFilter says %v; preemption must have its turn", status)
			}
		}},
		"it is reserved": {end: func(b *bench, t *testing.T, pod *corev1.Pod, cycle fwk.CycleState, _ *handlers) {
			if status := b.Reserve(t.Context(), cycle, pod, "a"); !status.IsSuccess() {
				t.Error(status)
			}
		}, want: true},
		"it is placed by others": {end: func(_ *bench, _ *testing.T, pod *corev1.Pod, _ fwk.CycleState, pods *handlers) {
			pods.OnUpdate(pod, given(pod))
		}, want: true},
		"it is deleted": {end: func(_ *bench, _ *testing.T, pod *corev1.Pod, _ fwk.CycleState, pods *handlers) { pods.OnDelete(pod) }, want: true},
		"it is updated": {end: func(_ *bench, _ *testing.T, pod *corev1.Pod, _ fwk.CycleState, pods *handlers) {
			pods.OnUpdate(pod, pod)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, pods, pod := newBench(t, eightOf("a"), eightOf("b")), &handlers{}, gpuPod("p")
			if err := b.facts.watchPods(t.Context(), pods); err != nil {
				t.Fatal(err)
			}
			names, cycle := b.shortlist(t, pod, b.nodeInfos())
			if len(names) != 2 {
				t.Fatalf("the list is %v", names)
			}
			_, status := b.PostFilter(t.Context(), cycle, pod, nil)
			if status.Code() != fwk.UnschedulableAndUnresolvable {
				t.Fatalf("PostFilter says %v; preemption must not see the short list", status)
			}
			if diff := cmp.Diff([]string{"p"}, b.queue.take()); diff != "" {
				t.Errorf("activated (-want +got):\n%s", diff)
			}
			names, cycle = b.shortlist(t, pod, b.nodeInfos())
			if names != nil {
				t.Fatalf("the list is still %v", names)
			}
			test.end(b, t, pod, cycle, pods)
			if got := b.queue.take(); len(got) > 0 {
				t.Errorf("%v was activated again: it would be tried for ever", got)
			}
			if names, _ = b.shortlist(t, pod, b.nodeInfos()); (names != nil) != test.want {
				t.Errorf("the list is %v", names)
			}
		})
	}
}

func TestPostFilterWithoutAShortList(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		cycle   func(b *bench, t *testing.T) fwk.CycleState
		without bool
	}{
		"a pod without accelerators": {cycle: func(*bench, *testing.T) fwk.CycleState { return &fakeCycle{} }},
		"a pod that gets all nodes": {cycle: func(b *bench, t *testing.T) fwk.CycleState {
			return b.begin(t, podWith(func(p *corev1.Pod) { p.Status.NominatedNodeName = "a" }))
		}},
		"no node has room": {cycle: func(b *bench, t *testing.T) fwk.CycleState {
			return b.begin(t, podOf("p", map[corev1.ResourceName]int64{gpu: 9}))
		}},
		"a profile that does not pack": {cycle: func(b *bench, t *testing.T) fwk.CycleState { b.packs = false; return b.begin(t, gpuPod("p")) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, eightOf("a"))
			cycle := test.cycle(b, t)
			if _, status := b.PostFilter(t.Context(), cycle, gpuPod("p"), nil); status.Code() != fwk.Unschedulable {
				t.Errorf("PostFilter says %v; others must have their turn", status)
			}
			if got := b.queue.take(); len(got) > 0 || b.facts.widened.len() > 0 {
				t.Errorf("%v was activated, %d are remembered", got, b.facts.widened.len())
			}
		})
	}
}

// TestNothingIsKeptOfPodsThatAreGone: a scheduler runs for months.
func TestNothingIsKeptOfPodsThatAreGone(t *testing.T) {
	t.Parallel()
	ends := map[string]func(pods *handlers, pod *corev1.Pod){
		"bound":                             func(pods *handlers, pod *corev1.Pod) { pods.OnUpdate(pod, given(pod)) },
		"deleted":                           func(pods *handlers, pod *corev1.Pod) { pods.OnDelete(pod) },
		"deleted before its cycle was over": nil,
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, pods := newBench(t, eightOf("a")), &handlers{}
			if err := b.facts.watchPods(t.Context(), pods); err != nil {
				t.Fatal(err)
			}
			b.facts.gone = func(*corev1.Pod) bool { return end == nil }
			for i := range 20 {
				pod := gpuPod(fmt.Sprint("p-", i))
				if end == nil {
					pods.OnDelete(pod)
				}
				_, cycle := b.shortlist(t, pod, b.nodeInfos())
				b.PostFilter(t.Context(), cycle, pod, nil)
				b.shortlist(t, pod, b.nodeInfos())
				if end != nil {
					end(pods, pod)
				}
			}
			if seen, widened := len(b.facts.roster.seen), b.facts.widened.len(); seen+widened > 0 {
				t.Errorf("%d pods are seen and %d widened for ever", seen, widened)
			}
			if len(b.facts.roster.learner.Mix().Items) != 1 {
				t.Error("they were not counted")
			}
		})
	}
}

// TestCyclesAndNewsAtOnce is for the race detector: nodes are scored by many at once, pods
// are judged outside of cycles, and telemetry has news all the time.
func TestCyclesAndNewsAtOnce(t *testing.T) {
	t.Parallel()
	b, pods := newBench(t, eightOf("a"), eightOf("b")), &handlers{}
	if err := b.facts.watchPods(t.Context(), pods); err != nil {
		t.Fatal(err)
	}
	infos := b.nodeInfos()
	var others sync.WaitGroup
	stop := make(chan struct{})
	during := func(work func(i int)) {
		others.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
					work(i)
				}
			}
		})
	}
	during(func(i int) {
		b.facts.fleetChanged(b.fleet.set(devicesOf("a", []func(*fleet.Device){healthy, suspect, failed}[i%3])))
	})
	during(func(i int) {
		if i%2 == 0 {
			b.facts.quarantinesChanged(b.quarantines.put(quarantineOf("b", "GPU-b-0")))
		} else {
			b.facts.quarantinesChanged(b.quarantines.put())
		}
	})
	during(func(i int) { pods.OnDelete(gpuPod(fmt.Sprint("p-", i%50))) })
	for i := range 200 {
		pod := gpuPod(fmt.Sprint("p-", i%50))
		if i%3 == 0 {
			pod.Status.NominatedNodeName = "a"
		}
		cycle := &fakeCycle{}
		b.PreFilter(t.Context(), cycle, pod, infos)
		var scoring sync.WaitGroup
		for _, info := range infos {
			scoring.Go(func() {
				b.Filter(t.Context(), cycle, pod, info)
				_, _ = b.Score(t.Context(), cycle, pod, info)
			})
		}
		scoring.Wait()
		b.PostFilter(t.Context(), cycle, pod, nil)
		others.Go(func() { // The binding, which outlives the cycle.
			b.Reserve(t.Context(), cycle, pod, "a")
			b.PreBind(t.Context(), cycle, pod, "a")
			b.Unreserve(t.Context(), cycle, pod, "a")
		})
	}
	close(stop)
	others.Wait()
}
