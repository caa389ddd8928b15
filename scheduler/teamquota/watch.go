package teamquota

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"wastenot.dev/api/v1alpha1"
)

// watchPods counts bound pods as they come and go.
func (b *books) watchPods(informer cache.SharedIndexInformer) (cache.ResourceEventHandlerRegistration, error) {
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
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
	})
	if err != nil {
		return nil, fmt.Errorf("watching pods: %w", err)
	}
	return registration, nil
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
	var spec *v1alpha1.QuotaLedgerSpec
	if namespace, err := b.namespaces.Get(pod.Namespace); err == nil {
		if ledger := b.ledgers.Latest(namespace.Labels[v1alpha1.LabelTeam]); ledger != nil {
			spec = &ledger.Spec
		}
	}
	// A claim that is not found does not hide the rest.
	held, _ := b.demandOf(pod, spec)
	b.usage.put(pod.UID, held)
}

func (b *books) podGone(pod *corev1.Pod) {
	b.parked.remove(pod.UID)
	if b.usage.remove(pod.UID) {
		b.roomIn(pod.Namespace, "a pod of the team has ended")
	}
}

// watchNamespaces has every held pod looked at again when a namespace changes hands or
// mode.
func (b *books) watchNamespaces(informer cache.SharedIndexInformer) error {
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(before, after any) {
			old, ok := before.(*corev1.Namespace)
			current, also := after.(*corev1.Namespace)
			if !ok || !also {
				return
			}
			for _, label := range []string{v1alpha1.LabelTeam, v1alpha1.LabelMode} {
				if old.Labels[label] != current.Labels[label] {
					b.wake("", "namespace "+current.Name+" changed")
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
