package scheduler

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"wastenot.dev/internal/accelerator"
	"wastenot.dev/placement"
	"wastenot.dev/placement/packing"
	"wastenot.dev/placement/podrequest"
)

const bytesPerMiB = 1 << 20

// layouts has one layout for each resource and number of units, so that equal nodes are
// equal to packing.
type layouts map[poolKey]*packing.Layout

type poolKey struct {
	resource corev1.ResourceName
	units    int64
}

// maxPool is how many units of one resource packing tells apart.
const maxPool = 1 << 20

func (l layouts) of(name corev1.ResourceName, units int64) *packing.Layout {
	key := poolKey{name, min(units, maxPool)}
	layout, known := l[key]
	if !known {
		layout = packing.Divisible(string(name), uint64(key.units)*packing.Whole)
		l[key] = layout
	}
	return layout
}

// describe is the node as packing sees it. The kubelet picks the device, so the units of
// one resource are one pool, as good as the worst device that serves it. A pool that is
// closed to pods has no room: only healthy capacity counts.
func (l layouts) describe(s *state, info fwk.NodeInfo) packing.Node {
	node, allocatable, requested := info.Node(), info.GetAllocatable(), info.GetRequested()
	described := packing.Node{
		Product:   node.Labels[podrequest.LabelProduct],
		CPUMilli:  max(allocatable.GetMilliCPU()-requested.GetMilliCPU(), 0),
		MemoryMiB: max(allocatable.GetMemory()-requested.GetMemory(), 0) / bytesPerMiB,
	}
	used := requested.GetScalarResources()
	for name, units := range allocatable.GetScalarResources() {
		want := accelerator.Request{Resource: name, Kind: accelerator.KindOf(name), Profile: accelerator.ProfileOf(name), Count: 1}
		if want.Kind == accelerator.KindNone || units <= 0 {
			continue
		}
		view := s.view(node, want, used[name])
		if len(placement.Check(&view, want)) > 0 {
			continue
		}
		described.Devices = append(described.Devices, packing.Device{
			Layout: l.of(name, units),
			Free:   uint64(min(max(units-used[name], 0), maxPool)) * packing.Whole,
			Tier:   placement.Tier(&view, want),
			Busy:   placement.Contention(&view, want),
		})
	}
	slices.SortFunc(described.Devices, func(a, b packing.Device) int { return strings.Compare(a.Layout.Name(), b.Layout.Name()) })
	return described
}
