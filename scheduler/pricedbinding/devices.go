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
	// classes are those in force, and whether they were read yet.
	classes func() (classes accelerator.Classes, read bool)
	slices  func() ([]*resourceapi.ResourceSlice, error)
}

func newDevices(handle fwk.Handle, classes func() (accelerator.Classes, bool)) *devices {
	d := &devices{objects: claims.Of(handle), classes: classes, slices: func() ([]*resourceapi.ResourceSlice, error) { return nil, nil }}
	if manager := handle.SharedDRAManager(); manager != nil {
		d.slices = manager.ResourceSlices().ListWithDeviceTaintRules
	}
	return d
}

// errUnread tells of a DeviceClass that the quota configuration may name.
var errUnread = errors.New("the quota configuration was not read yet, which may name a DeviceClass of the pod as an accelerator")

// given returns the pod's demands with the MIG profiles of the devices that its claims
// were allocated. An error names what cannot be read.
func (d *devices) given(pod *corev1.Pod) ([]accelerator.Demand, error) {
	listed, read := d.classes()
	known := &asked{Classes: listed}
	demands, err := d.givenOf(pod, known)
	if known.inVain && !read && len(demands) > 0 {
		err = errors.Join(err, errUnread)
	}
	return demands, err
}

// asked remembers whether a class was looked for that is not listed.
type asked struct {
	accelerator.Classes
	inVain bool
}

// Known tells whether the class is listed.
func (a *asked) Known(class string) bool {
	known := a.Classes.Known(class)
	a.inVain = a.inVain || !known
	return known
}

func (d *devices) givenOf(pod *corev1.Pod, known accelerator.Classes) ([]accelerator.Demand, error) {
	extended := *pod
	extended.Spec.ResourceClaims = nil
	demands, err := accelerator.DemandOf(&extended, d.objects, known)
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
		allocated, err := d.allocated(claim, known)
		demands, errs = append(demands, allocated...), append(errs, err)
	}
	return demands, errors.Join(errs...)
}

// allocated returns one demand for each accelerator that the claim was allocated.
func (d *devices) allocated(claim *resourceapi.ResourceClaim, known accelerator.Classes) ([]accelerator.Demand, error) {
	if claim.Status.Allocation == nil {
		return nil, fmt.Errorf("ResourceClaim %s is not allocated", claim.Name)
	}
	var demands []accelerator.Demand
	var errs []error
	for i := range claim.Status.Allocation.Devices.Results {
		result := &claim.Status.Allocation.Devices.Results[i]
		demand, ok, err := accelerator.DemandOfResult(claim, result.Request, d.objects, known)
		if err != nil || !ok {
			errs = append(errs, err)
			continue
		}
		device, err := d.device(result)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		demands = append(demands, demand.Of(device))
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
