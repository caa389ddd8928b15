package pricing

import (
	"strings"

	"wastenot.dev/internal/accelerator"
)

// Basis says what was priced.
type Basis string

// The bases. A Neuron core is priced as its part of a whole device.
const (
	BasisWhole     Basis = "whole"
	BasisMIG       Basis = "mig"
	BasisTimeslice Basis = "timeslice"
	BasisDRA       Basis = "dra"
	// BasisMixed: several of the others, such as a time slice of a MIG instance.
	BasisMixed   Basis = "mixed"
	BasisUnknown Basis = "unknown"
)

// and is the basis of two things together; "" is that of nothing.
func (b Basis) and(other Basis) Basis {
	switch {
	case b == "" || b == other:
		return other
	case other == "":
		return b
	default:
		return BasisMixed
	}
}

// classMIG is the DeviceClass of NVIDIA's driver of which every device is a MIG instance.
const classMIG = "mig.nvidia.com"

// whole is one device.
var whole = ratio{1, 1}

// part returns which part of one device a unit of the demand is on the node.
func (v *nodeView) part(want *accelerator.Demand) (ratio, Basis) {
	switch want.Kind {
	case accelerator.KindDevice, accelerator.KindShared:
		unit, basis := whole, BasisWhole
		if v.profile != "" {
			unit, basis = v.instance(v.profile), BasisMIG
		}
		return v.slice(unit, basis, resourceGPU, want.Kind == accelerator.KindShared)
	case accelerator.KindMIG:
		resource, renamed := strings.CutSuffix(want.Class, suffixShared)
		return v.slice(v.instance(want.Profile), BasisMIG, resource, renamed)
	case accelerator.KindNeuron:
		return v.neuron(want.Class), BasisWhole
	case accelerator.KindDRA:
		return v.allocated(want), BasisDRA
	default:
		return ratio{}, BasisUnknown
	}
}

// instance is the part that an instance of the MIG profile is.
func (v *nodeView) instance(profile string) ratio {
	share, ok := accelerator.MIGShare(v.card(), profile)
	if !ok {
		return ratio{}
	}
	return ratioOf(share.Numerator, share.Denominator)
}

// slice divides a unit by its replicas, if it has them. Renamed tells that the resource's
// name says that it has.
func (v *nodeView) slice(unit ratio, basis Basis, resource string, renamed bool) (ratio, Basis) {
	if !renamed && !v.isShared(resource) {
		return unit, basis
	}
	replicas := v.number(resource + suffixReplicas)
	if replicas == 1 && !renamed {
		return unit, basis // It is the node's other devices that are shared.
	}
	if basis == BasisWhole {
		basis = BasisTimeslice
	}
	return unit.times(ratioOf(1, replicas)), basis.and(BasisTimeslice)
}

// neuron is the part of a Neuron device that a unit of the resource is.
func (v *nodeView) neuron(resource string) ratio {
	switch resource {
	case resourceNeuron, resourceNeuronDevice:
		return whole
	case resourceNeuronCore:
		return ratioOf(1, v.coresPerDevice())
	default:
		return ratio{}
	}
}

// allocated is the part that a device of a DeviceClass is. Which profile a device of
// NVIDIA's MIG class has is known when it is allocated, not from the class.
func (v *nodeView) allocated(want *accelerator.Demand) ratio {
	switch {
	case want.Profile != "":
		return v.instance(want.Profile)
	case want.Class == accelerator.ClassName(classMIG):
		return ratio{}
	default:
		return whole
	}
}
