package simnode

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// status is what the kubelet would publish about the pod now.
func (t *tracked) status() *corev1.PodStatus {
	status := &corev1.PodStatus{
		ObservedGeneration: t.pod.Generation,
		Phase:              corev1.PodRunning,
		StartTime:          ptr.To(metav1.NewTime(t.started)),
		HostIP:             t.node.address,
		HostIPs:            []corev1.HostIP{{IP: t.node.address}},
	}
	switch {
	case t.phase == phaseRejected:
		status.Phase = corev1.PodFailed
		status.Reason = t.rejection.reason
		status.Message = "Pod was rejected: " + t.rejection.message
		status.Conditions = t.conditions(corev1.ConditionFalse, "PodFailed")
		return status
	case t.phase == phaseDone && t.exitCode != 0:
		status.Phase = corev1.PodFailed
		status.Conditions = t.conditions(corev1.ConditionFalse, "PodFailed")
	case t.phase == phaseDone:
		status.Phase = corev1.PodSucceeded
		status.Conditions = t.conditions(corev1.ConditionFalse, "PodCompleted")
	default:
		status.Conditions = t.conditions(corev1.ConditionTrue, "")
	}
	status.PodIP = t.address
	status.PodIPs = []corev1.PodIP{{IP: t.address}}
	for i := range t.pod.Spec.InitContainers {
		container := &t.pod.Spec.InitContainers[i]
		status.InitContainerStatuses = append(status.InitContainerStatuses, t.containerStatus(container, !isSidecar(container)))
	}
	for i := range t.pod.Spec.Containers {
		one := t.containerStatus(&t.pod.Spec.Containers[i], false)
		one.AllocatedResourcesStatus = t.allocated(one.Name)
		status.ContainerStatuses = append(status.ContainerStatuses, one)
	}
	return status
}

// conditions are those that a kubelet owns.
func (t *tracked) conditions(ready corev1.ConditionStatus, reason string) []corev1.PodCondition {
	since := metav1.NewTime(t.started)
	if ready == corev1.ConditionFalse {
		since = metav1.NewTime(t.ended)
	}
	condition := func(kind corev1.PodConditionType, value corev1.ConditionStatus, why string) corev1.PodCondition {
		return corev1.PodCondition{Type: kind, Status: value, Reason: why, LastTransitionTime: since}
	}
	initialized := corev1.ConditionTrue
	if t.phase == phaseRejected {
		initialized = corev1.ConditionFalse
	}
	return []corev1.PodCondition{
		condition(corev1.PodReadyToStartContainers, ready, ""),
		condition(corev1.PodInitialized, initialized, ""),
		condition(corev1.PodReady, ready, reason),
		condition(corev1.ContainersReady, ready, reason),
	}
}

// containerStatus of a container that runs, has completed (an init container
// before the others) or has ended with the pod.
func (t *tracked) containerStatus(container *corev1.Container, completed bool) corev1.ContainerStatus {
	status := corev1.ContainerStatus{
		Name: container.Name, Image: container.Image, ImageID: container.Image,
		ContainerID: "sim://" + string(t.pod.UID) + "/" + container.Name,
		Ready:       true, Started: ptr.To(true),
	}
	started := metav1.NewTime(t.started)
	switch {
	case completed:
		status.Started = ptr.To(false)
		status.State.Terminated = &corev1.ContainerStateTerminated{
			Reason: "Completed", StartedAt: started, FinishedAt: started, ContainerID: status.ContainerID,
		}
	case t.phase == phaseDone:
		status.Ready, status.Started = false, ptr.To(false)
		reason := "Completed"
		if t.exitCode != 0 {
			reason = "Error"
		}
		status.State.Terminated = &corev1.ContainerStateTerminated{
			ExitCode: t.exitCode, Reason: reason, StartedAt: started,
			FinishedAt: metav1.NewTime(t.ended), ContainerID: status.ContainerID,
		}
	default:
		status.State.Running = &corev1.ContainerStateRunning{StartedAt: started}
	}
	return status
}

// allocated lists a container's devices with their health. A pod that has ended
// keeps showing them, as with the real kubelet, although they may be in use by
// another pod already: readers must look at the phase too.
func (t *tracked) allocated(container string) []corev1.ResourceStatus {
	var all []corev1.ResourceStatus
	for _, g := range t.plan.grants {
		if g.container != container || !g.published {
			continue
		}
		status := corev1.ResourceStatus{Name: corev1.ResourceName(g.resource)}
		for _, id := range slices.Sorted(slices.Values(g.ids)) {
			health := corev1.ResourceHealthStatusHealthy
			if !t.node.healthy(id) {
				health = corev1.ResourceHealthStatusUnhealthy
			}
			status.Resources = append(status.Resources, corev1.ResourceHealth{ResourceID: corev1.ResourceID(id), Health: health})
		}
		all = append(all, status)
	}
	return all
}
