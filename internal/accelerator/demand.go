package accelerator

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
)

// allDevices is what a claim for all devices counts as: the most that one claim can be
// allocated (resourceapi.AllocationResultsMaxSize), which is how ResourceQuota counts it.
const allDevices = resourceapi.AllocationResultsMaxSize

// MaxUnits is more of a class than any cluster has. More counts as this: sums of what
// people write must neither overflow nor come out small.
const MaxUnits = 1_000_000_000

// Demand is what a pod asks of one accelerator class.
type Demand struct {
	// Class is what quotas count and prices are given for: a resource name, or
	// deviceclass.resource.kubernetes.io/NAME.
	Class string
	Kind  Kind
	// Profile is the MIG profile, for KindMIG.
	Profile string
	Count   int64
}

// Objects finds what a pod's claims refer to. What does not exist is an error.
type Objects interface {
	Claim(namespace, name string) (*resourceapi.ResourceClaim, error)
	Template(namespace, name string) (*resourceapi.ResourceClaimTemplate, error)
	Class(name string) (*resourceapi.DeviceClass, error)
}

// Classes says which DeviceClasses are accelerators beside those that are known, by
// class name as in Demand.
type Classes interface{ Known(class string) bool }

// DemandOf returns what the pod asks of each accelerator class, in order of class;
// nothing for a pod that asks for none. It counts what extended resources need at once,
// and the devices of every claim: the most of each class where a request lists
// alternatives, 32 where it asks for all. A claim that several pods share counts in
// each of them.
//
// What cannot be found is an error, which names the claim; the demand of everything
// else is returned with it.
func DemandOf(pod *corev1.Pod, objects Objects, known Classes) ([]Demand, error) {
	byClass := map[string]Demand{}
	var errs []error
	for _, request := range requestsOf(pod, func(name corev1.ResourceName) bool { return kindOfResource(name, known) != KindNone }) {
		add(byClass, Demand{Class: string(request.Resource), Kind: kindOfResource(request.Resource, known), Profile: request.Profile, Count: request.Count})
	}
	for i := range pod.Spec.ResourceClaims {
		spec, err := claimSpec(pod, &pod.Spec.ResourceClaims[i], objects)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		for j := range spec.Devices.Requests {
			if err := addRequest(byClass, &spec.Devices.Requests[j], objects, known); err != nil {
				errs = append(errs, fmt.Errorf("claim %s: %w", pod.Spec.ResourceClaims[i].Name, err))
			}
		}
	}
	return slices.SortedFunc(maps.Values(byClass), func(a, b Demand) int { return cmp.Compare(a.Class, b.Class) }), errors.Join(errs...)
}

// Counts returns units by class.
func Counts(demands []Demand) map[string]int64 {
	counts := make(map[string]int64, len(demands))
	for _, d := range demands {
		counts[d.Class] = d.Count
	}
	return counts
}

func add(byClass map[string]Demand, d Demand) {
	d.Count = min(d.Count+byClass[d.Class].Count, MaxUnits)
	byClass[d.Class] = d
}

// kindOfResource is KindOf, and KindDRA for extended resources that stand for an
// accelerator's DeviceClass.
func kindOfResource(name corev1.ResourceName, known Classes) Kind {
	if kind := KindOf(name); kind != KindNone {
		return kind
	}
	if class, ok := strings.CutPrefix(string(name), resourceapi.ResourceDeviceClassPrefix); ok && isAccelerator(class, known) {
		return KindDRA
	}
	return KindNone
}

// claimSpec finds the claim or the template that the pod names.
func claimSpec(pod *corev1.Pod, claim *corev1.PodResourceClaim, objects Objects) (*resourceapi.ResourceClaimSpec, error) {
	// What was made from a template is what will be allocated.
	name := ClaimName(pod, claim)
	if name != "" {
		found, err := objects.Claim(pod.Namespace, name)
		if err == nil {
			return &found.Spec, nil
		}
		if claim.ResourceClaimName != nil {
			return nil, fmt.Errorf("claim %s: finding ResourceClaim %s: %w", claim.Name, name, err)
		}
	}
	if claim.ResourceClaimTemplateName == nil {
		return nil, fmt.Errorf("claim %s names neither a ResourceClaim nor a ResourceClaimTemplate", claim.Name)
	}
	found, err := objects.Template(pod.Namespace, *claim.ResourceClaimTemplateName)
	if err != nil {
		return nil, fmt.Errorf("claim %s: finding ResourceClaimTemplate %s: %w", claim.Name, *claim.ResourceClaimTemplateName, err)
	}
	return &found.Spec.Spec, nil
}

// addRequest adds one request of a claim.
func addRequest(byClass map[string]Demand, request *resourceapi.DeviceRequest, objects Objects, known Classes) error {
	if exactly := request.Exactly; exactly != nil {
		demand, ok, err := demandOfClass(exactly.DeviceClassName, objects, known)
		if err != nil || !ok {
			return err
		}
		demand.Count = countOf(exactly.AllocationMode, exactly.Count)
		add(byClass, demand)
		return nil
	}
	most := map[string]Demand{}
	var errs []error
	for i := range request.FirstAvailable {
		sub := &request.FirstAvailable[i]
		demand, ok, err := demandOfClass(sub.DeviceClassName, objects, known)
		if err != nil {
			errs = append(errs, err)
		}
		if !ok {
			continue
		}
		demand.Count = max(most[demand.Class].Count, countOf(sub.AllocationMode, sub.Count))
		most[demand.Class] = demand
	}
	for _, demand := range most {
		add(byClass, demand)
	}
	return errors.Join(errs...)
}

func countOf(mode resourceapi.DeviceAllocationMode, count int64) int64 {
	if mode == resourceapi.DeviceAllocationModeAll {
		return allDevices
	}
	return min(max(count, 1), MaxUnits) // The API server sets 1 where none is given.
}

// demandOfClass says what a device of a DeviceClass counts as: a unit of the extended
// resource that the class stands for, else of the class itself. It returns false for
// classes that are no accelerators.
func demandOfClass(name string, objects Objects, known Classes) (Demand, bool, error) {
	class, err := objects.Class(name)
	if err != nil {
		if isAccelerator(name, known) {
			return Demand{Class: ClassName(name), Kind: KindDRA}, true, nil
		}
		return Demand{}, false, fmt.Errorf("finding DeviceClass %s: %w", name, err)
	}
	if extended := class.Spec.ExtendedResourceName; extended != nil {
		resource := corev1.ResourceName(*extended)
		if kind := KindOf(resource); kind != KindNone {
			return Demand{Class: *extended, Kind: kind, Profile: ProfileOf(resource)}, true, nil
		}
	}
	if isAccelerator(name, known) {
		return Demand{Class: ClassName(name), Kind: KindDRA}, true, nil
	}
	return Demand{}, false, nil
}

// knownClasses are the DeviceClasses that the drivers of NVIDIA and AWS install
// (github.com/kubernetes-sigs/dra-driver-nvidia-gpu and the Neuron DRA driver).
// NVIDIA's classes for compute domains are channels, not devices.
var knownClasses = []string{"gpu.nvidia.com", "mig.nvidia.com", "vfio.gpu.nvidia.com", "neuron.aws.com"}

func isAccelerator(class string, known Classes) bool {
	return slices.Contains(knownClasses, class) || (known != nil && known.Known(ClassName(class)))
}

// ClassName is the class under which quotas and prices know a DeviceClass. Kubernetes
// has the same name for the class as an extended resource.
func ClassName(deviceClass string) string { return resourceapi.ResourceDeviceClassPrefix + deviceClass }

// IsClass tells whether quotas can count the named class.
func IsClass(class string) bool {
	name, ok := strings.CutPrefix(class, resourceapi.ResourceDeviceClassPrefix)
	return KindOf(corev1.ResourceName(class)) != KindNone || (ok && isAccelerator(name, nil))
}
