package accelerator

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Kind says what one unit of a resource is.
type Kind int

const (
	// KindNone: the resource is no accelerator.
	KindNone Kind = iota
	// KindDevice: one unit is a whole device, or a time slice of one where the
	// device plugin replicates devices under the same name.
	KindDevice
	// KindShared: one unit is a time slice or MPS share (NVIDIA's ".shared" names).
	KindShared
	// KindMIG: one unit is a MIG instance of one profile, or a time slice of one.
	KindMIG
	// KindNeuron: one unit is a Neuron device or core.
	KindNeuron
	// KindDRA: one unit is a device that a DRA driver allocates.
	KindDRA
)

const (
	nvidiaDomain = "nvidia.com/"
	migPrefix    = nvidiaDomain + "mig-"
	sharedSuffix = ".shared"
	neuronPrefix = "aws.amazon.com/neuron"
)

// KindOf tells what one unit of the named resource is. Other "nvidia.com/"
// resources, such as those of network plugins, are no accelerators.
func KindOf(name corev1.ResourceName) Kind {
	resource := string(name)
	switch {
	case strings.HasPrefix(resource, migPrefix):
		return KindMIG
	case resource == nvidiaDomain+"gpu":
		return KindDevice
	case resource == nvidiaDomain+"gpu"+sharedSuffix:
		return KindShared
	case strings.HasPrefix(resource, neuronPrefix):
		return KindNeuron
	default:
		return KindNone
	}
}

// ProfileOf returns the MIG profile that the resource names, such as 1g.5gb, or ""
// when it names none. NVIDIA spells attributes with "." where the profile has "+":
// mig-1g.10gb.me is profile 1g.10gb+me.
func ProfileOf(name corev1.ResourceName) string {
	resource := string(name)
	if !strings.HasPrefix(resource, migPrefix) {
		return ""
	}
	profile := strings.TrimSuffix(strings.TrimPrefix(resource, migPrefix), sharedSuffix)
	// Only an attribute follows the size, and no attribute holds "gb.".
	return strings.Replace(profile, "gb.", "gb+", 1)
}
