package accelerator

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/component-helpers/resource"
)

// Request is how many units of one accelerator resource a pod needs at once.
type Request struct {
	Resource corev1.ResourceName
	Kind     Kind
	// Profile is the MIG profile, for KindMIG.
	Profile string
	Count   int64
}

// RequestOf returns what the pod needs of each accelerator resource, in order of
// resource name; nothing for a pod that needs none. Init containers, sidecars and
// pod-level resources count as the kubelet and the scheduler count them. Claims are
// DemandOf's.
func RequestOf(pod *corev1.Pod) []Request {
	return requestsOf(pod, func(name corev1.ResourceName) bool { return KindOf(name) != KindNone })
}

// requestsOf is RequestOf for the resources that counts tells.
func requestsOf(pod *corev1.Pod, counts func(corev1.ResourceName) bool) []Request {
	if !mentions(pod, counts) {
		return nil
	}
	var requests []Request
	for name, quantity := range resource.PodRequests(pod, resource.PodResourcesOptions{}) {
		if !counts(name) || quantity.Sign() <= 0 {
			continue
		}
		requests = append(requests, Request{Resource: name, Kind: KindOf(name), Profile: ProfileOf(name), Count: unitsOf(quantity)})
	}
	slices.SortFunc(requests, func(a, b Request) int { return strings.Compare(string(a.Resource), string(b.Resource)) })
	return requests
}

// unitsOf is the quantity in whole units, at most MaxUnits.
func unitsOf(quantity apiresource.Quantity) int64 {
	if quantity.CmpInt64(MaxUnits) > 0 {
		return MaxUnits // Value wraps around beyond 64 bits.
	}
	return quantity.Value()
}

// mentions spares the many pods without accelerators the full sum. The API server has
// copied limits of extended resources to requests.
func mentions(pod *corev1.Pod, counts func(corev1.ResourceName) bool) bool {
	mention := func(containers []corev1.Container) bool {
		for i := range containers {
			for name := range containers[i].Resources.Requests {
				if counts(name) {
					return true
				}
			}
		}
		return false
	}
	return mention(pod.Spec.Containers) || mention(pod.Spec.InitContainers)
}
