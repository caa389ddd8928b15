package mix

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"wastenot.dev/internal/fleet"
	"wastenot.dev/placement/packing"
	"wastenot.dev/placement/podrequest"
)

// interval is how often the mix is handed on at most. Whoever gets another one prices
// the fleet anew.
const interval = 5 * time.Second

// Follower learns the mix from the cluster's pods. Start is called once, and Run
// after it.
type Follower struct {
	publish func(*fleet.Mix)
	clock   clock.WithTicker
	factory informers.SharedInformerFactory
	arrived cache.ResourceEventHandlerRegistration

	// learner belongs to whoever is in Start or Run.
	learner *packing.Learner

	// waiting has what arrived and was not counted yet; word holds a token then.
	mu      sync.Mutex
	waiting []arrival
	word    chan struct{}
}

// arrival is one pod that asks for accelerators.
type arrival struct {
	created time.Time
	// name is NAMESPACE/NAME.
	name, uid string
	requests  []packing.Request
}

// NewFollower returns a follower that does nothing until Start. publish is called with
// every new mix, by whoever is in Start or Run.
func NewFollower(client kubernetes.Interface, policy *Policy, publish func(*fleet.Mix), clk clock.WithTicker) (*Follower, error) {
	f := &Follower{
		publish: publish, clock: clk, word: make(chan struct{}, 1),
		learner: packing.NewLearner(policy.HalfLife, packing.NewMix(policy.Seed)),
		factory: informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(trim)),
	}
	var err error
	if f.arrived, err = f.factory.Core().V1().Pods().Informer().AddEventHandler(f.handler()); err != nil {
		return nil, fmt.Errorf("watching pods: %w", err)
	}
	return f, nil
}

// Start reads the pods that are there and publishes what they and the seed come to. It
// waits until the API server has told of them all; only the end of ctx is an error.
func (f *Follower) Start(ctx context.Context) error {
	f.factory.StartWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), f.arrived.HasSynced) {
		f.factory.Shutdown()
		return fmt.Errorf("listing pods: %w", context.Cause(ctx))
	}
	pods := f.count()
	mix := f.share()
	klog.FromContext(ctx).WithName("mix").Info("The mix of requests starts from the pods that are there and the seed", "pods", pods, "kinds", len(mix.Items))
	return nil
}

// Run follows the pods until ctx ends, and returns when the watch has ended.
func (f *Follower) Run(ctx context.Context) {
	defer f.factory.Shutdown()
	logger := klog.FromContext(ctx).WithName("mix")
	ticker := f.clock.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.word:
			f.count()
		case <-ticker.C():
			if f.learner.Due() {
				logger.V(2).Info("The mix of requests has changed", "kinds", len(f.share().Items))
			}
		}
	}
}

// count has the learner count what waits, in the order of creation, and returns how many
// pods that were.
func (f *Follower) count() int {
	f.mu.Lock()
	arrivals := f.waiting
	f.waiting = nil
	f.mu.Unlock()
	slices.SortFunc(arrivals, func(a, b arrival) int {
		return cmp.Or(a.created.Compare(b.created), cmp.Compare(a.name, b.name), cmp.Compare(a.uid, b.uid))
	})
	for i := range arrivals {
		for _, request := range arrivals[i].requests {
			f.learner.Observe(request)
		}
	}
	return len(arrivals)
}

// share publishes what has been learnt, unless that is nothing, and returns it.
func (f *Follower) share() *packing.Mix {
	mix := f.learner.Mix()
	if len(mix.Items) > 0 {
		f.publish(toFleet(mix))
	}
	return mix
}

func toFleet(mix *packing.Mix) *fleet.Mix {
	out := &fleet.Mix{Items: make([]fleet.MixItem, 0, len(mix.Items))}
	for i := range mix.Items {
		item := &mix.Items[i]
		out.Items = append(out.Items, fleet.MixItem{
			Kind: item.Kind, Count: item.Count, Milli: item.Milli, CPUMilli: item.CPUMilli, MemoryMiB: item.MemoryMiB,
			Products: item.Products, Weight: item.Weight,
		})
	}
	return out
}

// handler hears of every pod once: the informer remembers which are there, and what a pod
// asks of accelerators does not change while it exists.
func (f *Follower) handler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: f.arrive,
		UpdateFunc: func(old, object any) {
			before, ok := old.(*corev1.Pod)
			after, okAfter := object.(*corev1.Pod)
			if ok && okAfter && before.UID != after.UID {
				f.arrive(after) // Another one of the name, while the watch was broken.
			}
		},
	}
}

func (f *Follower) arrive(object any) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return
	}
	requests := podrequest.Of(pod)
	if len(requests) == 0 {
		return
	}
	f.mu.Lock()
	f.waiting = append(f.waiting, arrival{pod.CreationTimestamp.Time, cache.MetaObjectToName(pod).String(), string(pod.UID), requests})
	f.mu.Unlock()
	select {
	case f.word <- struct{}{}:
	default:
	}
}

// trim leaves of a pod what podrequest.Of reads, so that the pods of a large cluster take
// little memory, and next to nothing those without accelerators.
func trim(object any) (any, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil // A tombstone.
	}
	out := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: pod.Name, Namespace: pod.Namespace, UID: pod.UID, ResourceVersion: pod.ResourceVersion, CreationTimestamp: pod.CreationTimestamp,
	}}
	if len(podrequest.Of(pod)) == 0 {
		return out, nil
	}
	out.Spec = corev1.PodSpec{
		Containers: trimContainers(pod.Spec.Containers), InitContainers: trimContainers(pod.Spec.InitContainers),
		Resources: pod.Spec.Resources, Overhead: pod.Spec.Overhead, NodeSelector: pod.Spec.NodeSelector,
	}
	if pod.Spec.Affinity != nil {
		out.Spec.Affinity = &corev1.Affinity{NodeAffinity: pod.Spec.Affinity.NodeAffinity}
	}
	return out, nil
}

func trimContainers(containers []corev1.Container) []corev1.Container {
	var out []corev1.Container
	for i := range containers {
		out = append(out, corev1.Container{Resources: containers[i].Resources, RestartPolicy: containers[i].RestartPolicy})
	}
	return out
}
