package claims

import (
	"errors"

	resourceapi "k8s.io/api/resource/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"wastenot.dev/internal/accelerator"
)

// Of returns the scheduler's view of claims and device classes, those that are being
// allocated included.
func Of(handle fwk.Handle) accelerator.Objects {
	if manager := handle.SharedDRAManager(); manager != nil {
		return objects{manager}
	}
	return none{}
}

type objects struct{ manager fwk.SharedDRAManager }

// Claim returns the claim.
func (o objects) Claim(namespace, name string) (*resourceapi.ResourceClaim, error) {
	return o.manager.ResourceClaims().Get(namespace, name)
}

// Template finds none: the scheduler does not watch them.
func (objects) Template(string, string) (*resourceapi.ResourceClaimTemplate, error) {
	return nil, errors.New("the claim has not been made from it yet")
}

// Class returns the device class.
func (o objects) Class(name string) (*resourceapi.DeviceClass, error) {
	return o.manager.DeviceClasses().Get(name)
}

// none is the view where dynamic resource allocation is off.
type none struct{}

var errOff = errors.New("dynamic resource allocation is off in this scheduler")

// Claim finds none.
func (none) Claim(string, string) (*resourceapi.ResourceClaim, error) { return nil, errOff }

// Template finds none.
func (none) Template(string, string) (*resourceapi.ResourceClaimTemplate, error) { return nil, errOff }

// Class finds none.
func (none) Class(string) (*resourceapi.DeviceClass, error) { return nil, errOff }
