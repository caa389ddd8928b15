package candidate

import (
	"context"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/utils/ptr"

	"wastenot.dev/internal/accelerator"
)

// need is one thing that the pod asks for: an extended resource, or a request of one of
// its claims.
type need struct {
	// resource is the extended resource; without a class for a request of a claim.
	resource accelerator.Demand
	// choices are the alternatives of a request, of which it is given one. Of an extended
	// resource they are the DeviceClasses that nodes without it can meet it from.
	choices []choice
	// times is how many such requests there are. As each is given one of the same
	// choices, the cheapest and the dearest for all of them bound every mix.
	times int64
}

// choice is what devices must be, and what one of them counts as.
type choice struct {
	// want has no class where the devices are no accelerators.
	want accelerator.Demand
	// selectors are CEL expressions that all must be true of a device.
	selectors []string
	// count is how many devices are needed; 0 for all that there are on the node.
	count int64
}

// counted knows the classes of a demand, so that what was counted is what is priced.
type counted []accelerator.Demand

// Known tells whether the demand is of the class too.
func (c counted) Known(class string) bool {
	return slices.ContainsFunc(c, func(d accelerator.Demand) bool { return d.Class == class })
}

// needs takes the demand apart into what is met one by one. It is cut where something
// was not found.
func (f *Finder) needs(ctx context.Context, pod *corev1.Pod, demand []accelerator.Demand) (needs []need, cut bool) {
	finding := finding{objects: f.cluster.Claims(ctx), known: counted(demand)}
	for _, resource := range f.resources(pod, demand, finding.objects) {
		needs = append(needs, need{resource: resource, choices: f.standIns(&resource), times: 1})
	}
	for i := range pod.Spec.ResourceClaims {
		spec := finding.claim(pod, &pod.Spec.ResourceClaims[i])
		for j := range spec.Devices.Requests {
			needs = with(needs, finding.choices(spec, &spec.Devices.Requests[j]))
		}
	}
	return needs, finding.cut
}

// resources is the part of the demand that is of extended resources. A pod that only
// describes a demand has no claims, and all of its demand is.
func (f *Finder) resources(pod *corev1.Pod, demand []accelerator.Demand, objects accelerator.Objects) []accelerator.Demand {
	if len(pod.Spec.ResourceClaims) == 0 {
		return demand
	}
	extended := *pod
	extended.Spec.ResourceClaims = nil
	// Without claims nothing has to be found.
	resources, _ := accelerator.DemandOf(&extended, objects, counted(demand))
	return resources
}

// with adds a request. One that can only be given what is no accelerator does not matter.
func with(needs []need, choices []choice) []need {
	if !slices.ContainsFunc(choices, func(c choice) bool { return c.want.Class != "" }) {
		return needs
	}
	if i := slices.IndexFunc(needs, func(n need) bool { return n.resource.Class == "" && reflect.DeepEqual(n.choices, choices) }); i >= 0 {
		needs[i].times++
		return needs
	}
	return append(needs, need{choices: choices, times: 1})
}

// finding finds what claims refer to.
type finding struct {
	objects accelerator.Objects
	known   accelerator.Classes
	// cut tells that something was not found.
	cut bool
}

// claim returns what the pod's claim says, or nothing where it cannot be found.
func (f *finding) claim(pod *corev1.Pod, claim *corev1.PodResourceClaim) *resourceapi.ResourceClaimSpec {
	if name := accelerator.ClaimName(pod, claim); name != "" {
		if found, err := f.objects.Claim(pod.Namespace, name); err == nil {
			return &found.Spec
		}
	}
	if name := claim.ResourceClaimTemplateName; name != nil {
		if found, err := f.objects.Template(pod.Namespace, *name); err == nil {
			return &found.Spec.Spec
		}
	}
	f.cut = true
	return &resourceapi.ResourceClaimSpec{}
}

// choices returns the alternatives of a request.
func (f *finding) choices(spec *resourceapi.ResourceClaimSpec, request *resourceapi.DeviceRequest) []choice {
	var choices []choice
	add := func(name, class string, selectors []resourceapi.DeviceSelector, mode resourceapi.DeviceAllocationMode, count int64) {
		want, _, err := accelerator.DemandOfResult(&resourceapi.ResourceClaim{Spec: *spec}, name, f.objects, f.known)
		device, missing := f.objects.Class(class)
		if err != nil || missing != nil {
			f.cut = true
			return
		}
		count = max(count, 1) // The API server sets 1 where none is given.
		if mode == resourceapi.DeviceAllocationModeAll {
			count = 0
		}
		choices = append(choices, choice{want: want, selectors: append(expressions(device.Spec.Selectors), expressions(selectors)...), count: count})
	}
	if exactly := request.Exactly; exactly != nil {
		add(request.Name, exactly.DeviceClassName, exactly.Selectors, exactly.AllocationMode, exactly.Count)
	}
	for i := range request.FirstAvailable {
		sub := &request.FirstAvailable[i]
		add(request.Name+"/"+sub.Name, sub.DeviceClassName, sub.Selectors, sub.AllocationMode, sub.Count)
	}
	return choices
}

// standIns are the DeviceClasses that an extended resource can be met from. Whatever
// they give counts as the resource.
func (f *Finder) standIns(demand *accelerator.Demand) []choice {
	var choices []choice
	for _, class := range f.cluster.Classes() {
		if ptr.Deref(class.Spec.ExtendedResourceName, "") == demand.Class || accelerator.ClassName(class.Name) == demand.Class {
			choices = append(choices, choice{want: *demand, selectors: expressions(class.Spec.Selectors), count: max(demand.Count, 1)})
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
