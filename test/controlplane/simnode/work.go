package simnode

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
)

// work does one item of the queue and reports whether there may be more.
func (f *Fleet) work(ctx context.Context) bool {
	next, shutdown := f.queue.Get()
	if shutdown {
		return false
	}
	defer f.queue.Done(next)
	var err error
	switch next.kind {
	case podItem:
		err = f.writePod(ctx, types.UID(next.key))
	case nodeItem:
		err = f.writeNode(ctx, next.key)
	case leaseItem:
		err = f.renewLease(ctx, next.key)
	}
	if err == nil {
		f.queue.Forget(next)
		return true
	}
	if ctx.Err() == nil {
		klog.FromContext(ctx).Error(err, "Writing for a simulated node, will retry", "key", next.key)
		f.queue.AddRateLimited(next)
	}
	return true
}

// errand is what a worker has to write about one pod.
type errand struct {
	pod      PodRef
	status   *corev1.PodStatus // nil: the API has it already
	revision int
	event    *rejection
	remove   bool
}

// writePod brings the API in line with what the node has decided.
func (f *Fleet) writePod(ctx context.Context, uid types.UID) error {
	do := f.nextErrand(uid)
	if do.status != nil {
		err := f.patchStatus(ctx, do.pod, do.status)
		if isGone(err) {
			return nil // the informer will say so
		}
		if err != nil {
			return fmt.Errorf("patching the status of pod %s/%s: %w", do.pod.Namespace, do.pod.Name, err)
		}
		f.mu.Lock()
		if t := f.pods[uid]; t != nil {
			t.written = do.revision
		}
		f.mu.Unlock()
	}
	if do.event != nil {
		if err := f.report(ctx, do.pod, do.event); err != nil {
			return fmt.Errorf("reporting the rejection of pod %s/%s: %w", do.pod.Namespace, do.pod.Name, err)
		}
	}
	if do.remove {
		options := metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0), Preconditions: metav1.NewUIDPreconditions(string(uid))}
		if err := f.client.CoreV1().Pods(do.pod.Namespace).Delete(ctx, do.pod.Name, options); err != nil && !isGone(err) {
			return fmt.Errorf("removing pod %s/%s: %w", do.pod.Namespace, do.pod.Name, err)
		}
	}
	return nil
}

// nextErrand ends the pod if its time has come and says what is to be written.
func (f *Fleet) nextErrand(uid types.UID) errand {
	f.mu.Lock()
	t := f.pods[uid]
	if t == nil {
		f.mu.Unlock()
		return errand{}
	}
	freed := f.endIfDue(t)
	over := t.phase == phaseDone || t.phase == phaseRejected
	do := errand{pod: refOf(t.pod), revision: t.revision, remove: over && t.pod.DeletionTimestamp != nil}
	if t.written != t.revision {
		do.status = t.status()
	}
	if t.phase == phaseRejected && !t.reported {
		t.reported, do.event = true, t.rejection
	}
	node := t.node.node.Name
	f.mu.Unlock()
	if freed {
		f.onChange(node)
	}
	return do
}

// endIfDue ends a pod whose time has come, or comes back when it has, and reports
// whether devices became free. The caller holds the lock.
func (f *Fleet) endIfDue(t *tracked) (freed bool) {
	if t.phase != phaseRunning && t.phase != phaseStopping || t.endAt.IsZero() {
		return false
	}
	if left := t.endAt.Sub(f.clock.Now()); left > 0 {
		f.queue.AddAfter(item{kind: podItem, key: string(t.pod.UID)}, left)
		return false
	}
	return f.end(t)
}

// patchStatus writes like a kubelet: as a strategic merge that leaves conditions
// of others alone, and only to the very pod that was bound here.
func (f *Fleet) patchStatus(ctx context.Context, pod PodRef, status *corev1.PodStatus) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": pod.UID}, "status": status})
	if err != nil {
		return err
	}
	_, err = f.client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	return err
}

// report sends the Event that a kubelet sends when it rejects a pod.
func (f *Fleet) report(ctx context.Context, pod PodRef, why *rejection) error {
	now := metav1.NewTime(f.clock.Now())
	_, err := f.client.CoreV1().Events(pod.Namespace).Create(ctx, &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{GenerateName: pod.Name + ".", Namespace: pod.Namespace},
		InvolvedObject: corev1.ObjectReference{
			APIVersion: "v1", Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID,
		},
		Type: corev1.EventTypeWarning, Reason: why.reason, Message: why.message,
		Source:         corev1.EventSource{Component: "kubelet"},
		FirstTimestamp: now, LastTimestamp: now, Count: 1,
	}, metav1.CreateOptions{})
	if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) || isGone(err) {
		return nil
	}
	return err
}

// isGone is true when the pod does not exist any more or its name has a new owner.
func isGone(err error) bool {
	return apierrors.IsNotFound(err) || apierrors.IsConflict(err)
}
