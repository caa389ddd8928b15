package accelerator

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
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
// pod-level resources count as the kubelet and the scheduler count them.
func RequestOf(pod *corev1.Pod) []Request {
	if !mentionsAccelerator(pod) {
		return nil
	}
	var requests []Request
	for name, quantity := range resource.PodRequests(pod, resource.PodResourcesOptions{}) {
		kind := KindOf(name)
		if kind == KindNone || quantity.Sign() <= 0 {
			continue
		}
		requests = append(requests, Request{Resource: name, Kind: kind, Profile: ProfileOf(name), Count: quantity.Value()})
	}
	slices.SortFunc(requests, func(a, b Request) int { return strings.Compare(string(a.Resource), string(b.Resource)) })
	return requests
}

// mentionsAccelerator spares the many pods without accelerators the full sum. The API
// server has copied limits of extended resources to requests.
func mentionsAccelerator(pod *corev1.Pod) bool {
	mentions := func(containers []corev1.Container) bool {
		for i := range containers {
			for name := range containers[i].Resources.Requests {
				if KindOf(name) != KindNone {
					return true
				}
			}
		}
		return false
	}
	return mentions(pod.Spec.Containers) || mentions(pod.Spec.InitContainers)
}
