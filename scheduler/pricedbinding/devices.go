package pricedbinding

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"wastenot.dev/internal/accelerator"
	"wastenot.dev/scheduler/claims"
)

// devices tells what a pod was given: of extended resources what it asks for, of claims
// what was allocated.
type devices struct {
	objects accelerator.Objects
	slices  func() ([]*resourceapi.ResourceSlice, error)
}

func newDevices(handle fwk.Handle) *devices {
	d := &devices{objects: claims.Of(handle), slices: func() ([]*resourceapi.ResourceSlice, error) { return nil, nil }}
	if manager := handle.SharedDRAManager(); manager != nil {
		d.slices = manager.ResourceSlices().ListWithDeviceTaintRules
	}
	return d
}

// given returns the pod's demands with the MIG profiles of the devices that its claims
// were allocated. An error names the claims that cannot be read.
func (d *devices) given(pod *corev1.Pod) ([]accelerator.Demand, error) {
	if len(pod.Spec.ResourceClaims) == 0 {
		return accelerator.DemandOf(pod, d.objects, nil)
	}
	extended := *pod
	extended.Spec.ResourceClaims = nil
	demands, err := accelerator.DemandOf(&extended, d.objects, nil)
	errs := []error{err}
	for i := range pod.Spec.ResourceClaims {
		name := accelerator.ClaimName(pod, &pod.Spec.ResourceClaims[i])
		if name == "" {
			continue // The claim's controller found that none is needed.
		}
		claim, err := d.objects.Claim(pod.Namespace, name)
		if err != nil {
			errs = append(errs, fmt.Errorf("finding ResourceClaim %s: %w", name, err))
			continue
		}
		allocated, err := d.allocated(claim)
		demands, errs = append(demands, allocated...), append(errs, err)
	}
	return demands, errors.Join(errs...)
}

// allocated returns one demand for each accelerator that the claim was allocated.
func (d *devices) allocated(claim *resourceapi.ResourceClaim) ([]accelerator.Demand, error) {
	if claim.Status.Allocation == nil {
		return nil, fmt.Errorf("ResourceClaim %s is not allocated", claim.Name)
	}
	var demands []accelerator.Demand
	var errs []error
	for i := range claim.Status.Allocation.Devices.Results {
		result := &claim.Status.Allocation.Devices.Results[i]
		demand, ok, err := accelerator.DemandOfResult(claim, result.Request, d.objects, nil)
		if err != nil || !ok {
			errs = append(errs, err)
			continue
		}
		device, err := d.device(result)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		demand.Count, demand.Profile = 1, accelerator.ProfileOfDevice(device)
		demands = append(demands, demand)
	}
	return demands, errors.Join(errs...)
}

// device finds the device in the slices of its pool.
func (d *devices) device(result *resourceapi.DeviceRequestAllocationResult) (*resourceapi.Device, error) {
	slices, err := d.slices()
	if err != nil {
		return nil, fmt.Errorf("listing ResourceSlices: %w", err)
	}
	for _, slice := range slices {
		if slice.Spec.Driver != result.Driver || slice.Spec.Pool.Name != result.Pool {
			continue
		}
		for i := range slice.Spec.Devices {
			if slice.Spec.Devices[i].Name == result.Device {
				return &slice.Spec.Devices[i], nil
			}
		}
	}
	return nil, fmt.Errorf("device %s of pool %s is in no ResourceSlice of driver %s", result.Device, result.Pool, result.Driver)
}
