package teamquota

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"wastenot.dev/api/v1alpha1"
)

const (
	// tick is how often what time changes is looked at.
	tick = time.Second
	// firstPatience is how long the first count waits for claims that cannot be found.
	firstPatience = 30 * time.Second
)

// keep counts every pod that is bound, once all is known that this depends on, and then
// does what is due by time until ctx ends.
func (b *books) keep(ctx context.Context) {
	b.recount("")
	began := b.clock.Now()
	ticker := b.clock.NewTicker(tick)
	defer ticker.Stop()
	for {
		if !b.counted() && (b.doubtful.len() == 0 || b.clock.Since(began) > firstPatience) {
			b.complete.Store(true)
			b.wake("", "every pod was counted")
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
			b.lookAround(ctx)
		}
	}
}

// lookAround tries again to count what could not be, gives up what was let through and
// has not come on, and forgets who waits and is gone.
func (b *books) lookAround(ctx context.Context) {
	for _, pod := range b.doubtful.of("") {
		klog.FromContext(ctx).V(4).Info("Counting a pod again whose claims could not be read", "pod", klog.KObj(pod))
		if current, err := b.pods.Pods(pod.Namespace).Get(pod.Name); err == nil && current.UID == pod.UID {
			b.podSeen(current)
		} else {
			b.doubtful.remove(pod.UID)
		}
	}
	for _, pod := range b.parked.of("") {
		if current, err := b.pods.Pods(pod.Namespace).Get(pod.Name); err != nil || current.UID != pod.UID {
			b.parked.remove(pod.UID)
		}
	}
	for namespace := range b.usage.expire(b.clock.Now()) {
		b.roomIn(namespace, "a pod that was let through found no node")
	}
}

// watchPods counts bound pods as they come and go.
func (b *books) watchPods(informer cache.SharedIndexInformer) error {
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { b.podSeen(object) },
		UpdateFunc: func(_, object any) { b.podSeen(object) },
		DeleteFunc: func(object any) {
			if tombstone, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = tombstone.Obj
			}
			if pod, ok := object.(*corev1.Pod); ok {
				b.podGone(pod)
			}
		},
	}); err != nil {
		return fmt.Errorf("watching pods: %w", err)
	}
	return nil
}

// podSeen counts the pod in once it is bound and out once it has ended. A pod that is
// not bound is left alone: it may be reserved.
func (b *books) podSeen(object any) {
	pod, ok := object.(*corev1.Pod)
	if !ok || pod.Spec.NodeName == "" {
		return
	}
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		b.podGone(pod)
		return
	}
	b.parked.remove(pod.UID) // Also when another scheduler placed it.
	namespace, _ := b.namespaces.get(pod.Namespace)
	held, err := b.demandOf(pod, b.specOf(namespace.Labels[v1alpha1.LabelTeam]))
	held.step = bound
	if err == nil {
		b.doubtful.remove(pod.UID)
	} else {
		b.doubtful.add(pod, "", err.Error())
		// What was known of it still holds.
		if old, found := b.usage.has(pod.UID); found {
			for class, count := range old.counts {
				held.counts[class] = max(held.counts[class], count)
			}
		}
	}
	b.usage.put(pod.UID, held)
}

func (b *books) podGone(pod *corev1.Pod) {
	b.parked.remove(pod.UID)
	b.doubtful.remove(pod.UID)
	if b.usage.remove(pod.UID) {
		b.roomIn(pod.Namespace, "a pod of the team has ended")
	}
}

// watchNamespaces has pods counted and looked at again when a namespace comes, or changes
// hands or mode.
func (b *books) watchNamespaces(informer cache.SharedIndexInformer) error {
	changed := func(name string) {
		b.recount(name)
		b.wake("", "namespace "+name+" changed")
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(object any, initial bool) {
			if namespace, ok := object.(*corev1.Namespace); ok && !initial {
				changed(namespace.Name)
			}
		},
		UpdateFunc: func(before, after any) {
			old, ok := before.(*corev1.Namespace)
			current, also := after.(*corev1.Namespace)
			if !ok || !also {
				return
			}
			for _, label := range []string{v1alpha1.LabelTeam, v1alpha1.LabelMode} {
				if old.Labels[label] != current.Labels[label] {
					changed(current.Name)
					return
				}
			}
		},
	})
	if err != nil {
		return fmt.Errorf("watching namespaces: %w", err)
	}
	return nil
}

// ledgerChanged counts the team's bound pods again when the configuration changed, which
// says what counts, and has those that wait looked at.
func (b *books) ledgerChanged(team string) {
	hash := ""
	if spec := b.specOf(team); spec != nil {
		hash = spec.ConfigHash
	}
	if b.hashes[team] != hash {
		b.hashes[team] = hash
		for _, namespace := range b.namespaces.of(team) {
			b.recount(namespace)
		}
	}
	b.wake(team, "the team's ledger changed")
}

// recount counts the bound pods of a namespace, or of all for "".
func (b *books) recount(namespace string) {
	pods, err := b.pods.Pods(namespace).List(labels.Everything())
	if err != nil {
		return // A lister over a cache has no errors.
	}
	for _, pod := range pods {
		b.podSeen(pod)
	}
}
