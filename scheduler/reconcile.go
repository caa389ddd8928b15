package scheduler

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"wastenot.dev/api/v1alpha1"
)

// watchPods settles the book with what the kubelets report, and forgets pods that
// are gone.
func (f *facts) watchPods(ctx context.Context, informer cache.SharedIndexInformer) error {
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(_, object any) {
			if pod, ok := object.(*corev1.Pod); ok {
				f.podUpdated(ctx, pod)
			}
		},
		DeleteFunc: func(object any) {
			if tombstone, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = tombstone.Obj
			}
			if pod, ok := object.(*corev1.Pod); ok {
				f.parked.remove(pod.UID)
				f.widened.remove(pod.UID)
				f.roster.forget(pod.UID)
				f.book.remove(pod.UID)
			}
		},
	})
	if err != nil {
		return fmt.Errorf("watching pods: %w", err)
	}
	return nil
}

// goneFrom returns a function that tells whether the API server no longer has the
// pod, as far as the lister knows; a namesake does not count. The lister forgets a pod
// before handlers hear of it.
func goneFrom(pods corelisters.PodLister) func(*corev1.Pod) bool {
	return func(pod *corev1.Pod) bool {
		current, err := pods.Pods(pod.Namespace).Get(pod.Name)
		return err != nil || current.UID != pod.UID
	}
}

// podUpdated compares what the pod was given with what it should never get.
func (f *facts) podUpdated(ctx context.Context, pod *corev1.Pod) {
	if pod.Spec.NodeName == "" {
		return
	}
	f.parked.remove(pod.UID) // Also when another scheduler placed it.
	f.widened.remove(pod.UID)
	f.roster.forget(pod.UID)
	ids := assignedDevices(pod)
	finished := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	if len(ids) == 0 && !finished {
		return
	}
	if !f.book.remove(pod.UID) {
		return
	}
	// One Event for all of them: a second one of the pod would vanish behind the first.
	var given []string
	for _, entry := range f.quarantines.Current().OnNode(pod.Spec.NodeName) {
		if entry.Released || !slices.Contains(ids, entry.UUID) {
			continue
		}
		onUnfitDevice.Inc()
		klog.FromContext(ctx).Info("A pod was given a quarantined device", "pod", klog.KObj(pod), "node", pod.Spec.NodeName, "device", entry.UUID, "reason", entry.Reason)
		given = append(given, fmt.Sprintf("device %s, which is quarantined (%s, needs %s)", entry.UUID, entry.Reason, entry.Action))
	}
	if len(given) > 0 && f.recorder != nil {
		f.recorder.Eventf(pod, nil, corev1.EventTypeWarning, v1alpha1.EventAcceleratorDegraded, "Scheduling",
			"the kubelet gave %s", strings.Join(given, ", and "))
	}
}
