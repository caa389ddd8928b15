package simnode

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Device is one unit that a device plugin would report to the kubelet.
type Device struct {
	// ID as the plugin names it: "GPU-<uuid>", "GPU-<uuid>::0" for a replica,
	// "MIG-<uuid>". It is unique in its node.
	ID string
	// Resource such as "nvidia.com/gpu" or "nvidia.com/mig-1g.5gb".
	Resource string
	// Healthy devices count as allocatable and may be given out.
	Healthy bool
}

// Node describes one simulated node. Zero quantities mean a large machine.
type Node struct {
	Name    string
	Labels  map[string]string
	Taints  []corev1.Taint
	CPU     resource.Quantity // 0: 192 cores
	Memory  resource.Quantity // 0: 2 TiB
	Pods    int64             // 0: 110, the kubelet's default
	Devices []Device
}

// defaulted fills in what was left zero.
func (n Node) defaulted() Node {
	if n.CPU.IsZero() {
		n.CPU = resource.MustParse("192")
	}
	if n.Memory.IsZero() {
		n.Memory = resource.MustParse("2Ti")
	}
	if n.Pods == 0 {
		n.Pods = 110
	}
	return n
}

// validate returns everything that is wrong with a list of nodes.
func validate(nodes []Node) error {
	var errs []error
	names := map[string]bool{}
	for i, node := range nodes {
		if node.Name == "" || names[node.Name] {
			errs = append(errs, fmt.Errorf("nodes[%d]: name %q is empty or taken", i, node.Name))
		}
		names[node.Name] = true
		ids := map[string]bool{}
		for j, device := range node.Devices {
			if device.ID == "" || ids[device.ID] {
				errs = append(errs, fmt.Errorf("nodes[%d].devices[%d]: id %q is empty or taken", i, j, device.ID))
			}
			if device.Resource == "" {
				errs = append(errs, fmt.Errorf("nodes[%d].devices[%d]: no resource", i, j))
			}
			ids[device.ID] = true
		}
	}
	return errors.Join(errs...)
}

// base is the capacity without devices.
func (n Node) base() corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:              n.CPU,
		corev1.ResourceMemory:           n.Memory,
		corev1.ResourcePods:             *resource.NewQuantity(n.Pods, resource.DecimalSI),
		corev1.ResourceEphemeralStorage: resource.MustParse("1Ti"),
	}
}
