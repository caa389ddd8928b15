package accelerator

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
)

// ClaimName is the name of the ResourceClaim that serves the pod's claim; "" where none
// was made or none is needed.
func ClaimName(pod *corev1.Pod, claim *corev1.PodResourceClaim) string {
	if claim.ResourceClaimName != nil {
		return *claim.ResourceClaimName
	}
	for _, status := range pod.Status.ResourceClaimStatuses {
		if status.Name == claim.Name && status.ResourceClaimName != nil {
			return *status.ResourceClaimName
		}
	}
	return ""
}

// DemandOfResult says what one allocated device counts as, by the request that it was
// allocated for: NAME, or NAME/SUBREQUEST of a list of alternatives. It returns false
// for what is no accelerator. Count is left at 0.
func DemandOfResult(claim *resourceapi.ResourceClaim, request string, objects Objects, known Classes) (Demand, bool, error) {
	main, sub, _ := strings.Cut(request, "/")
	for i := range claim.Spec.Devices.Requests {
		r := &claim.Spec.Devices.Requests[i]
		if r.Name != main {
			continue
		}
		if r.Exactly != nil {
			return demandOfClass(r.Exactly.DeviceClassName, objects, known)
		}
		for j := range r.FirstAvailable {
			if r.FirstAvailable[j].Name == sub {
				return demandOfClass(r.FirstAvailable[j].DeviceClassName, objects, known)
			}
		}
	}
	return Demand{}, false, fmt.Errorf("ResourceClaim %s has no request %s", claim.Name, request)
}

// Of is what one device counts as that was given for the demand: it has the MIG profile
// of the device, where that says so. Count is 1.
func (d Demand) Of(device *resourceapi.Device) Demand {
	d.Count = 1
	if profile := ProfileOfDevice(device); profile != "" {
		d.Profile = profile
	}
	return d
}

// ProfileOfDevice is the MIG profile of a DRA device, or "" for a whole one. NVIDIA's
// driver publishes it as attribute "profile".
func ProfileOfDevice(device *resourceapi.Device) string {
	for _, name := range []resourceapi.QualifiedName{"profile", "gpu.nvidia.com/profile"} {
		if attribute, ok := device.Attributes[name]; ok && attribute.StringValue != nil {
			return *attribute.StringValue
		}
	}
	return ""
}
