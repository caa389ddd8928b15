package candidate

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	dracel "k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/utils/ptr"
)

// device is a device with its driver.
type device struct {
	*resourceapi.Device
	driver string
}

// pools reads the devices of nodes.
type pools struct {
	cluster Cluster
	// shared are the slices that belong to no single node.
	shared []*resourceapi.ResourceSlice
}

func newPools(cluster Cluster) pools { return pools{cluster: cluster, shared: cluster.SlicesOf("")} }

// devices returns the devices that the node can use.
func (p pools) devices(node *corev1.Node) []device {
	own := current(p.cluster.SlicesOf(node.Name))
	var devices []device
	for _, slice := range own {
		for i := range slice.Spec.Devices {
			devices = append(devices, device{Device: &slice.Spec.Devices[i], driver: slice.Spec.Driver})
		}
	}
	for _, slice := range current(p.shared) {
		perDevice := ptr.Deref(slice.Spec.PerDeviceNodeSelection, false)
		if !perDevice && !reaches(node, nil, slice.Spec.AllNodes, slice.Spec.NodeSelector) {
			continue
		}
		for i := range slice.Spec.Devices {
			d := &slice.Spec.Devices[i]
			if !perDevice || reaches(node, d.NodeName, d.AllNodes, d.NodeSelector) {
				devices = append(devices, device{Device: d, driver: slice.Spec.Driver})
			}
		}
	}
	return devices
}

// current leaves out slices that a newer generation of their pool replaces.
func current(all []*resourceapi.ResourceSlice) []*resourceapi.ResourceSlice {
	newest := map[string]int64{}
	key := func(s *resourceapi.ResourceSlice) string { return s.Spec.Driver + "/" + s.Spec.Pool.Name }
	for _, slice := range all {
		newest[key(slice)] = max(newest[key(slice)], slice.Spec.Pool.Generation)
	}
	return slices.DeleteFunc(slices.Clone(all), func(s *resourceapi.ResourceSlice) bool { return s.Spec.Pool.Generation < newest[key(s)] })
}

func reaches(node *corev1.Node, name *string, all *bool, selector *corev1.NodeSelector) bool {
	switch {
	case name != nil:
		return *name == node.Name
	case ptr.Deref(all, false):
		return true
	case selector != nil:
		compiled, err := nodeaffinity.NewNodeSelector(selector)
		return err == nil && compiled.Match(node)
	default:
		return false
	}
}

// meets tells whether all selectors are true of the device. One that cannot be
// evaluated is not, as for the allocator.
func (l *look) meets(ctx context.Context, d device, selectors []string) bool {
	for _, expression := range selectors {
		if l.evaluations--; l.evaluations < 0 {
			l.cut = true
			return false
		}
		compiled := l.selectors.GetOrCompile(expression)
		if compiled.Error != nil {
			return false
		}
		matches, _, err := compiled.DeviceMatches(ctx, dracel.Device{
			Driver: d.driver, AllowMultipleAllocations: d.AllowMultipleAllocations, Attributes: d.Attributes, Capacity: d.Capacity,
		})
		if err != nil || !matches {
			return false
		}
	}
	return true
}
