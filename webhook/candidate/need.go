package candidate

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/utils/ptr"

	"wastenot.dev/internal/accelerator"
)

// need is one accelerator class that the pod asks for.
type need struct {
	accelerator.Demand
	// choices are the DRA requests that count as the class. Without any, the class is an
	// extended resource, or standIns say which devices count as it.
	choices  []choice
	standIns []choice
}

// choice is what a device must be.
type choice struct {
	// selectors are CEL expressions that all must be true of it.
	selectors []string
	// count is how many devices are needed at the least.
	count int64
}

// needs adds to each demand the devices that would meet it.
func (f *Finder) needs(pod *corev1.Pod, demand []accelerator.Demand) []need {
	needs := make([]need, len(demand))
	for i := range demand {
		needs[i].Demand = demand[i]
	}
	for i := range pod.Spec.ResourceClaims {
		spec := f.claim(pod, &pod.Spec.ResourceClaims[i])
		if spec == nil {
			continue
		}
		for j := range spec.Devices.Requests {
			f.addRequest(needs, &spec.Devices.Requests[j])
		}
	}
	for i := range needs {
		if len(needs[i].choices) == 0 {
			needs[i].standIns = f.standIns(&needs[i].Demand)
		}
	}
	return needs
}

// claim returns what the pod's claim says, or nil where it cannot be found.
func (f *Finder) claim(pod *corev1.Pod, claim *corev1.PodResourceClaim) *resourceapi.ResourceClaimSpec {
	if name := claim.ResourceClaimName; name != nil {
		if found, err := f.objects.Claim(pod.Namespace, *name); err == nil {
			return &found.Spec
		}
	}
	if name := claim.ResourceClaimTemplateName; name != nil {
		if found, err := f.objects.Template(pod.Namespace, *name); err == nil {
			return &found.Spec.Spec
		}
	}
	return nil
}

func (f *Finder) addRequest(needs []need, request *resourceapi.DeviceRequest) {
	if exactly := request.Exactly; exactly != nil {
		f.addChoice(needs, exactly.DeviceClassName, exactly.Selectors, exactly.Count)
	}
	for i := range request.FirstAvailable {
		sub := &request.FirstAvailable[i]
		f.addChoice(needs, sub.DeviceClassName, sub.Selectors, sub.Count)
	}
}

func (f *Finder) addChoice(needs []need, class string, selectors []resourceapi.DeviceSelector, count int64) {
	device, err := f.objects.Class(class)
	if err != nil {
		return
	}
	counted := accelerator.ClassName(class)
	i := slices.IndexFunc(needs, func(n need) bool {
		return n.Class == counted || n.Class == ptr.Deref(device.Spec.ExtendedResourceName, "")
	})
	if i < 0 {
		return
	}
	needs[i].choices = append(needs[i].choices, choice{
		selectors: append(expressions(device.Spec.Selectors), expressions(selectors)...), count: max(count, 1),
	})
}

// standIns are the DeviceClasses that an extended resource can be met from.
func (f *Finder) standIns(demand *accelerator.Demand) []choice {
	var choices []choice
	for _, class := range f.cluster.Classes() {
		if ptr.Deref(class.Spec.ExtendedResourceName, "") == demand.Class || accelerator.ClassName(class.Name) == demand.Class {
			choices = append(choices, choice{selectors: expressions(class.Spec.Selectors), count: demand.Count})
		}
	}
	return choices
}

func expressions(selectors []resourceapi.DeviceSelector) []string {
	var out []string
	for _, selector := range selectors {
		if selector.CEL != nil {
			out = append(out, selector.CEL.Expression)
		}
	}
	return out
}

// hasResource tells whether the node has enough of the extended resource at all.
func hasResource(node *corev1.Node, demand *accelerator.Demand) bool {
	name := corev1.ResourceName(demand.Class)
	for _, list := range []corev1.ResourceList{node.Status.Allocatable, node.Status.Capacity} {
		if quantity, ok := list[name]; ok && quantity.Value() >= demand.Count {
			return true
		}
	}
	return false
}
