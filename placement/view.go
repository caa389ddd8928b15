package placement

import (
	"strings"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/internal/accelerator"
	"wastenot.dev/internal/fleet"
	"wastenot.dev/internal/quarantine"
)

// View is what is known of one node when one request is judged. It holds no copies:
// building one costs nothing.
type View struct {
	// Node is the fleet's view, nil when telemetry does not know the node.
	Node *fleet.Node
	// Quarantined are the quarantines on the node.
	Quarantined []quarantine.Entry
	// Capacity, Allocatable and Requested count units of the request's resource:
	// what the device plugin registered, what of it is healthy by its own account,
	// and what pods already hold or were promised.
	Capacity, Allocatable, Requested int64
	// MixedMIG tells that the node offers MIG profiles as resources of their own, so
	// that its whole-device resource does not cover partitioned devices.
	MixedMIG bool
	// Stale tells that telemetry has been silent: grades and activities count as
	// Unknown, but a device that Failed stays Failed.
	Stale bool
}

// serves tells whether a unit of the request may come from the device. What is not
// known of a device's layout counts against it.
func (v *View) serves(d *fleet.Device, want accelerator.Request) bool {
	if isNeuron(d.UUID, d.Vendor) != (want.Kind == accelerator.KindNeuron) {
		return false
	}
	if d.LayoutUnknown {
		return true
	}
	switch want.Kind {
	case accelerator.KindMIG:
		if !d.MIG {
			return false
		}
		return len(d.Partitions) == 0 || profileCount(d, want.Profile) > 0
	case accelerator.KindDevice, accelerator.KindShared:
		return !d.MIG || !v.MixedMIG
	default:
		return true
	}
}

// profileCount counts the device's instances of the MIG profile.
func profileCount(d *fleet.Device, profile string) int64 {
	var count int64
	for i := range d.Partitions {
		if d.Partitions[i].Profile == profile {
			count++
		}
	}
	return count
}

func isNeuron(uuid, vendor string) bool {
	if vendor != "" {
		return vendor == "aws"
	}
	return !strings.HasPrefix(uuid, "GPU-") && strings.Contains(uuid, "neuron")
}

// quarantined returns the node's quarantine of the device, or nil.
func (v *View) quarantined(uuid string) *quarantine.Entry {
	if uuid == "" {
		return nil
	}
	for i := range v.Quarantined {
		if v.Quarantined[i].UUID == uuid {
			return &v.Quarantined[i]
		}
	}
	return nil
}

// unfit tells whether the device must not get new work.
func (v *View) unfit(d *fleet.Device) bool {
	if q := v.quarantined(d.UUID); q != nil {
		return !q.Released
	}
	return d.Grade == v1alpha1.GradeFailed
}

// grade is the device's grade as it counts now.
func (v *View) grade(d *fleet.Device) v1alpha1.Grade {
	if v.Stale && d.Grade != v1alpha1.GradeFailed {
		return v1alpha1.GradeUnknown
	}
	return d.Grade
}
