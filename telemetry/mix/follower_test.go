package mix

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/clock"

	"wastenot.dev/internal/fleet"
	"wastenot.dev/placement/packing"
	"wastenot.dev/placement/podrequest"
)

// patience is how long a test waits for what must come; it bounds failures only.
const patience = 20 * time.Second

var midnight = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// born is a pod that asks for "RESOURCE=AMOUNT ..." and was created so many seconds after
// midnight.
func born(name string, second int, text string) *corev1.Pod {
	pod := podAsking(text)
	pod.ObjectMeta = metav1.ObjectMeta{
		Namespace: "ml", Name: name, UID: types.UID("uid-" + name), CreationTimestamp: metav1.NewTime(midnight.Add(time.Duration(second) * time.Second)),
	}
	return pod
}

// stage is a follower of a fake cluster, the clock that it has, and what it published.
type stage struct {
	clock.WithTicker

	t         *testing.T
	ctx       context.Context //nolint:containedctx // the test's own
	client    *fake.Clientset
	ticks     chan time.Time
	follower  *Follower
	published chan *fleet.Mix
}

func newStage(t *testing.T, policy *Policy, pods ...apiruntime.Object) *stage {
	t.Helper()
	s := &stage{t: t, ctx: t.Context(), client: fake.NewClientset(pods...), ticks: make(chan time.Time), published: make(chan *fleet.Mix, 64)}
	var err error
	if s.follower, err = NewFollower(s.client, policy, func(mix *fleet.Mix) { s.published <- mix }, s); err != nil {
		t.Fatal(err)
	}
	return s
}

// NewTicker hands out the ticks of the test, so that it knows when one was taken.
func (s *stage) NewTicker(d time.Duration) clock.Ticker {
	if d != interval {
		s.t.Errorf("a tick each %s", d)
	}
	return ticker{s.ticks}
}

type ticker struct{ ticks <-chan time.Time }

func (t ticker) C() <-chan time.Time { return t.ticks }
func (ticker) Stop()                 {}

// tick lets the interval pass. Whatever came of the ticks before is done then.
func (s *stage) tick() {
	s.t.Helper()
	select {
	case s.ticks <- midnight:
	case <-time.After(patience):
		s.t.Fatal("nobody waits for the interval to pass")
	}
}

// arrive tells the follower of pods, as its informer does, and waits until it has taken
// note. They count before the next tick does.
func (s *stage) arrive(pods ...*corev1.Pod) {
	s.t.Helper()
	for _, pod := range pods {
		s.follower.arrive(pod)
	}
	for end := time.Now().Add(patience); time.Now().Before(end); runtime.Gosched() {
		s.follower.mu.Lock()
		waiting := len(s.follower.waiting)
		s.follower.mu.Unlock()
		if waiting == 0 {
			return
		}
	}
	s.t.Fatal("the follower takes no note of pods")
}

// run starts the follower and has it run until the test ends, or until the returned
// function is called, which sees that it ends.
func (s *stage) run() (stop func()) {
	s.t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(s.ctx))
	if err := s.follower.Start(ctx); err != nil {
		s.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); s.follower.Run(ctx) }()
	stop = func() {
		cancel()
		select {
		case <-ended:
		case <-time.After(patience):
			s.t.Error("it does not end")
		}
	}
	s.t.Cleanup(stop)
	return stop
}

func (s *stage) create(pods ...*corev1.Pod) {
	s.t.Helper()
	for _, pod := range pods {
		if _, err := s.client.CoreV1().Pods(pod.Namespace).Create(s.ctx, pod, metav1.CreateOptions{}); err != nil {
			s.t.Fatal(err)
		}
	}
}

// counts are the requests of each kind that a mix stands for.
func counts(mix *fleet.Mix) map[string]float64 {
	if mix == nil {
		return nil
	}
	out := map[string]float64{}
	for _, item := range mix.Items {
		out[item.Kind] += float64(item.Weight) / 1024
	}
	return out
}

// last is what was published last, nil when nothing was since it was asked before.
func (s *stage) last() (mix *fleet.Mix) {
	for {
		select {
		case mix = <-s.published:
		default:
			return mix
		}
	}
}

// next lets time pass until something is published.
func (s *stage) next() *fleet.Mix {
	s.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); {
		select {
		case mix := <-s.published:
			return mix
		case <-time.After(time.Millisecond):
			s.tick()
		}
	}
	s.t.Fatal("nothing was published")
	return nil
}

func many(n int, name, text string) []*corev1.Pod {
	var pods []*corev1.Pod
	for i := range n {
		pods = append(pods, born(fmt.Sprint(name, "-", i), 100+i, text))
	}
	return pods
}

func TestStartPublishesSeedAndPods(t *testing.T) {
	t.Parallel()
	seed := &Policy{HalfLife: 100, Seed: []packing.Item{{Request: packing.Request{Kind: "nvidia.com/gpu", Count: 8, Milli: 1000}, Weight: 20}}}
	for name, test := range map[string]struct {
		policy *Policy
		pods   []apiruntime.Object
		want   *fleet.Mix
	}{
		"nothing is not known":                  {DefaultPolicy(), nil, nil},
		"pods without accelerators are nothing": {DefaultPolicy(), []apiruntime.Object{born("web", 1, "cpu=1")}, nil},
		"the seed alone":                        {seed, nil, &fleet.Mix{Items: []fleet.MixItem{{Kind: "nvidia.com/gpu", Count: 8, Milli: 1000, Weight: 20 << 10}}}},
		"pods alone": {DefaultPolicy(), []apiruntime.Object{
			born("a", 1, "nvidia.com/gpu=1 cpu=4 memory=16Gi"), born("b", 2, "nvidia.com/gpu=1 cpu=4 memory=16Gi"), born("c", 3, "nvidia.com/mig-1g.10gb=1"), born("web", 4, "cpu=1"),
		}, &fleet.Mix{Items: []fleet.MixItem{
			{Kind: "nvidia.com/gpu", Count: 1, Milli: 1000, CPUMilli: 3840, MemoryMiB: 16384, Weight: 2 << 10},
			{Kind: "nvidia.com/mig-1g.10gb", Count: 1, Milli: 1000, Weight: 1 << 10},
		}}},
		"a pod like the seed is of its kind": {seed, []apiruntime.Object{
			on(born("a", 1, "nvidia.com/gpu=8"), podrequest.LabelProduct+"=NVIDIA-L4"), born("b", 2, "nvidia.com/gpu=8"),
		}, &fleet.Mix{Items: []fleet.MixItem{
			{Kind: "nvidia.com/gpu", Count: 8, Milli: 1000, Weight: 21 << 10},
			{Kind: "nvidia.com/gpu", Count: 8, Milli: 1000, Products: "NVIDIA-L4", Weight: 1 << 10},
		}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, test.policy, test.pods...)
			s.run()
			if diff := cmp.Diff(test.want, s.last()); diff != "" {
				t.Errorf("mix (-want +got):\n%s", diff)
			}
		})
	}
}

// With a half life as short as this, the order is all that matters.
func TestPodsCountInTheOrderOfTheirCreation(t *testing.T) {
	t.Parallel()
	kinds := []string{"nvidia.com/gpu=1", "nvidia.com/gpu=2", "nvidia.com/mig-1g.10gb=1", "nvidia.com/gpu.shared=1"}
	var pods []apiruntime.Object
	learner := packing.NewLearner(3, nil)
	for i := range 40 {
		// Names run against the order of creation; every second pod is as old as the one
		// before, and comes after it by name.
		pod := born(fmt.Sprintf("pod-%02d-%d", 99-i/2, i%2), i/2, kinds[i*i/3%len(kinds)])
		pods = append(pods, pod)
		for _, request := range podrequest.Of(pod) {
			learner.Observe(request)
		}
	}
	want := toFleet(learner.Mix())
	for range 3 {
		s := newStage(t, &Policy{HalfLife: 3}, pods...)
		stop := s.run()
		if diff := cmp.Diff(want, s.last()); diff != "" {
			t.Errorf("mix (-want +got):\n%s", diff)
		}
		stop()
	}
}

func TestMixIsPublishedWhenEnoughHasArrivedAndNotTooOften(t *testing.T) {
	t.Parallel()
	s := newStage(t, DefaultPolicy(), born("first", 1, "nvidia.com/gpu=1"))
	s.run()
	if diff := cmp.Diff(map[string]float64{"nvidia.com/gpu": 1}, counts(s.last())); diff != "" {
		t.Errorf("at first (-want +got):\n%s", diff)
	}
	s.arrive(many(19, "early", "nvidia.com/gpu=1")...)
	for range 3 {
		s.tick()
	}
	if mix := s.last(); mix != nil {
		t.Errorf("published %v though it was not due", mix)
	}
	s.arrive(many(1, "late", "nvidia.com/gpu.shared=1")...)
	if mix := s.last(); mix != nil {
		t.Errorf("published %v before its time", mix)
	}
	if diff := cmp.Diff(map[string]float64{"nvidia.com/gpu": 20, "nvidia.com/gpu.shared": 1}, counts(s.next())); diff != "" {
		t.Errorf("when it is due (-want +got):\n%s", diff)
	}
	// Twice as much as is needed is one change.
	s.arrive(many(40, "more", "nvidia.com/gpu=1")...)
	for range 3 {
		s.tick()
	}
	if got := len(s.published); got != 1 {
		t.Errorf("published %d times, want once", got)
	}
}

func TestPodCountsOnce(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		do   func(t *testing.T, s *stage, pod *corev1.Pod)
		want float64
	}{
		"it changes": {func(t *testing.T, s *stage, pod *corev1.Pod) {
			for _, phase := range []corev1.PodPhase{corev1.PodRunning, corev1.PodSucceeded} {
				pod.Status.Phase = phase
				if _, err := s.client.CoreV1().Pods("ml").UpdateStatus(s.ctx, pod, metav1.UpdateOptions{}); err != nil {
					t.Fatal(err)
				}
			}
		}, 1},
		"it goes": {func(t *testing.T, s *stage, pod *corev1.Pod) {
			if err := s.client.CoreV1().Pods("ml").Delete(s.ctx, pod.Name, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		}, 1},
		"another of its name follows": {func(t *testing.T, s *stage, pod *corev1.Pod) {
			if err := s.client.CoreV1().Pods("ml").Delete(s.ctx, pod.Name, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			again := born(pod.Name, 5, "nvidia.com/mig-1g.10gb=1")
			again.UID = "another"
			s.create(again)
		}, 2},
		"another of its name has followed unseen": {func(_ *testing.T, s *stage, pod *corev1.Pod) {
			again := pod.DeepCopy()
			again.UID = "another"
			s.follower.handler().OnUpdate(pod, again)
		}, 2},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pod := born("pod", 1, "nvidia.com/mig-1g.10gb=1")
			s := newStage(t, DefaultPolicy(), pod)
			s.run()
			s.last()
			test.do(t, s, pod.DeepCopy())
			s.create(many(20, "others", "nvidia.com/gpu=1")...)
			if got := counts(s.next())["nvidia.com/mig-1g.10gb"]; got != test.want {
				t.Errorf("it counts %v, want %v", got, test.want)
			}
		})
	}
}

// A watch that has missed something lists all pods again; they have been counted.
func TestPodsThatAreListedAgainAreNotCountedAgain(t *testing.T) {
	t.Parallel()
	s := newStage(t, DefaultPolicy(), born("a", 1, "nvidia.com/gpu=1"), born("b", 2, "nvidia.com/gpu=1"))
	watches := make(chan *watch.RaceFreeFakeWatcher, 16)
	s.client.PrependWatchReactor("pods", func(clienttesting.Action) (bool, watch.Interface, error) {
		w := watch.NewRaceFreeFake()
		watches <- w
		return true, w, nil
	})
	s.run()
	s.last()
	expired := apierrors.NewResourceExpired("too old").Status()
	(<-watches).Error(&expired)
	again := <-watches
	for _, pod := range many(20, "late", "nvidia.com/gpu.shared=1") {
		again.Add(pod)
	}
	if diff := cmp.Diff(map[string]float64{"nvidia.com/gpu": 2, "nvidia.com/gpu.shared": 20}, counts(s.next())); diff != "" {
		t.Errorf("mix (-want +got):\n%s", diff)
	}
}

func TestStartEndsWithItsContext(t *testing.T) {
	t.Parallel()
	s := newStage(t, DefaultPolicy(), born("a", 1, "nvidia.com/gpu=1"))
	s.client.PrependReactor("list", "pods", func(clienttesting.Action) (bool, apiruntime.Object, error) {
		return true, nil, apierrors.NewForbidden(corev1.Resource("pods"), "", nil)
	})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := s.follower.Start(ctx); err == nil || !strings.Contains(err.Error(), "listing pods") {
		t.Errorf("error %v", err)
	}
	if mix := s.last(); mix != nil {
		t.Errorf("published %v without having read the pods", mix)
	}
}

func TestTrimLeavesLittle(t *testing.T) {
	t.Parallel()
	pod := born("a", 1, "nvidia.com/gpu=1")
	pod.Labels, pod.ResourceVersion = map[string]string{"app": "a"}, "7"
	pod.Spec.Containers[0].Image, pod.Spec.Containers[0].Env = "image", []corev1.EnvVar{{Name: "SECRET", Value: "x"}}
	want := born("a", 1, "nvidia.com/gpu=1")
	want.ResourceVersion = "7"
	if diff := cmp.Diff(want, trimmed(t, pod)); diff != "" {
		t.Errorf("with accelerators (-want +got):\n%s", diff)
	}
	pod.Spec.Containers[0].Resources = asking("cpu=1").Resources
	want.Spec = corev1.PodSpec{}
	if diff := cmp.Diff(want, trimmed(t, pod)); diff != "" {
		t.Errorf("without accelerators (-want +got):\n%s", diff)
	}
	if pod.Labels["app"] != "a" || pod.Spec.Containers[0].Image != "image" {
		t.Error("the pod itself was changed")
	}
	if tombstone, err := trim("something else"); err != nil || tombstone != "something else" {
		t.Errorf("got %v, %v", tombstone, err)
	}
}
