package simnode

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	resourcehelper "k8s.io/component-helpers/resource"
	"k8s.io/utils/ptr"
)

// plan is an admission that can be granted: which container gets which ids.
type plan struct {
	pod      PodRef
	grants   []grant
	requests corev1.ResourceList // of the whole pod, without devices
}

// grant is the devices of one resource for one container.
type grant struct {
	container, resource string
	ids                 []string
	published           bool // in containerStatuses: app containers only
}

// rejection is why a kubelet does not admit a pod, in its own words.
type rejection struct {
	reason, message string
}

const reasonUnexpectedAdmission = "UnexpectedAdmissionError"

// PreferenceRequest is what the kubelet asks a device plugin in GetPreferredAllocation.
type PreferenceRequest struct {
	Node, Resource string
	Available      []string // free and healthy ids, plus MustInclude
	MustInclude    []string // ids that the container reuses from an init container
	Size           int      // ids that are wanted, including MustInclude
}

// Preference stands for a device plugin with GetPreferredAllocation. It returns
// ids in falling preference; those that are not available are ignored and those
// that are missing are chosen at random. As with the kubelet it is asked only
// when there is a choice.
type Preference func(PreferenceRequest) []string

// plan decides on a pod without booking it. Devices come first, in the order in
// which the kubelet's device manager visits the containers, then the rest.
func (inv *inventory) plan(pod *corev1.Pod) (plan, *rejection) {
	p := plan{pod: refOf(pod), requests: baseRequests(pod)}
	d := draw{inv: inv, taken: sets.New[string](), reusable: map[string]sets.Set[string]{}}
	for i := range pod.Spec.InitContainers {
		container := &pod.Spec.InitContainers[i]
		grants, rejected := d.container(container)
		if rejected != nil {
			return plan{}, rejected
		}
		// What an ordinary init container had, later containers may use again; a
		// sidecar keeps its devices for the life of the pod.
		d.reuse(grants, !isSidecar(container))
		p.grants = append(p.grants, grants...)
	}
	for i := range pod.Spec.Containers {
		grants, rejected := d.container(&pod.Spec.Containers[i])
		if rejected != nil {
			return plan{}, rejected
		}
		for j := range grants {
			grants[j].published = true
		}
		d.reuse(grants, false)
		p.grants = append(p.grants, grants...)
	}
	return p, inv.checkBase(p.requests)
}

// checkBase compares CPU, memory, storage and the number of pods with the node.
func (inv *inventory) checkBase(requests corev1.ResourceList) *rejection {
	if used := int64(len(inv.pods)); used >= inv.node.Pods {
		return insufficient(corev1.ResourcePods, 1, used, inv.node.Pods)
	}
	capacity := inv.node.base()
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage} {
		var used int64
		for _, other := range inv.pods {
			used += amount(other, name)
		}
		want, limit := amount(requests, name), amount(capacity, name)
		if want > 0 && used+want > limit {
			return insufficient(name, want, used, limit)
		}
	}
	return nil
}

func insufficient(name corev1.ResourceName, requested, used, capacity int64) *rejection {
	return &rejection{
		reason: "OutOf" + string(name),
		message: fmt.Sprintf("Node didn't have enough resource: %s, requested: %d, used: %d, capacity: %d",
			name, requested, used, capacity),
	}
}

// amount is in milli-cores for CPU and in units or bytes for the rest, as in the
// kubelet's messages.
func amount(list corev1.ResourceList, name corev1.ResourceName) int64 {
	quantity := list[name]
	if name == corev1.ResourceCPU {
		return quantity.MilliValue()
	}
	return quantity.Value()
}

// baseRequests are the pod's effective requests of what every node has.
func baseRequests(pod *corev1.Pod) corev1.ResourceList {
	requests := resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{})
	base := corev1.ResourceList{}
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage} {
		if quantity, ok := requests[name]; ok {
			base[name] = quantity
		}
	}
	return base
}

// deviceRequest is how many devices of one resource a container wants.
type deviceRequest struct {
	resource string
	count    int
}

// deviceRequests reads the limits, as the kubelet does, and skips resources that
// this node has no plugin for: those are somebody else's. Sorted, so that the
// same random numbers give the same ids.
func (inv *inventory) deviceRequests(container *corev1.Container) []deviceRequest {
	var requests []deviceRequest
	for name, quantity := range container.Resources.Limits {
		managed := slices.ContainsFunc(inv.node.Devices, func(d Device) bool { return d.Resource == string(name) })
		if managed && quantity.Value() > 0 {
			requests = append(requests, deviceRequest{resource: string(name), count: int(quantity.Value())})
		}
	}
	slices.SortFunc(requests, func(a, b deviceRequest) int { return cmp.Compare(a.resource, b.resource) })
	return requests
}

func isSidecar(container *corev1.Container) bool {
	return ptr.Deref(container.RestartPolicy, "") == corev1.ContainerRestartPolicyAlways
}

func refOf(pod *corev1.Pod) PodRef {
	return PodRef{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}
}
