package policy

import (
	"cmp"
	"slices"
	"strings"

	"wastenot.dev/placement/packing"
	"wastenot.dev/test/perf/packing/replay"
	"wastenot.dev/test/perf/packing/trace"
)

// Pool is how a device plugin offers the devices of a model.
type Pool struct {
	// Resource is the name under which it offers them.
	Resource string
	// Units is how many of it each device has: 1 for whole devices, more for time slices.
	// A pod of the model takes one unit of each of its devices, so its GPUMilli must be a
	// whole device divided by Units.
	Units int64
}

// NewPooled returns a constructor of our policy as it is on a cluster with device plugins,
// where the kubelet picks the device and the scheduler sees one pool of units on each node.
// pool tells how a model is offered; every pod must name its models, all of one resource.
// A pod that names all that offer its resource counts as one that names none.
//
// In place of the kubelet it picks the devices that are used most and still have a unit,
// of equal ones the first.
func NewPooled(pool func(model string) Pool) replay.Constructor {
	return func(c *replay.Cluster, _ uint64) replay.Policy {
		v := &pooled{pool: pool, layouts: map[Pool]*packing.Layout{}, models: map[string][]string{}}
		for i := range c.Nodes {
			resource, model := pool(c.Nodes[i].Model).Resource, c.Nodes[i].Model
			if !slices.Contains(v.models[resource], model) {
				v.models[resource] = append(v.models[resource], model)
			}
		}
		return newWastenotWith(c, v)
	}
}

// pooled sees the devices of a node as one pool of units.
type pooled struct {
	pool func(model string) Pool
	// layouts has one for each resource and number of units of a node.
	layouts map[Pool]*packing.Layout
	// models has those that offer each resource.
	models map[string][]string
}

func (v *pooled) node(n *replay.Node) packing.Node {
	pool := v.pool(n.Model)
	key := Pool{pool.Resource, pool.Units * int64(len(n.FreeMilli))}
	layout, known := v.layouts[key]
	if !known {
		layout = packing.Divisible(key.Resource, uint64(key.Units)*packing.Whole)
		v.layouts[key] = layout
	}
	var units int64
	for _, free := range n.FreeMilli {
		units += free * pool.Units / trace.WholeMilli
	}
	return packing.Node{
		Product: n.Model, CPUMilli: n.FreeCPUMilli, MemoryMiB: n.FreeMemoryMiB,
		Devices: []packing.Device{{Layout: layout, Free: uint64(units) * packing.Whole}},
	}
}

func (v *pooled) request(pod *trace.Pod) packing.Request {
	resource := v.pool(pod.Models[0]).Resource
	r := packing.Request{
		Kind: resource, Count: int32(pod.GPUs), Milli: packing.Whole, CPUMilli: pod.CPUMilli, MemoryMiB: pod.MemoryMiB,
	}
	if slices.ContainsFunc(v.models[resource], func(model string) bool { return !pod.Accepts(model) }) {
		r.Products = strings.Join(slices.Compact(slices.Sorted(slices.Values(pod.Models))), "|")
	}
	return r
}

func (*pooled) devices(n *replay.Node, pod *trace.Pod, _ []packing.Take) []int {
	var serving []int
	for i, free := range n.FreeMilli {
		if free >= pod.GPUMilli {
			serving = append(serving, i)
		}
	}
	slices.SortStableFunc(serving, func(a, b int) int { return cmp.Compare(n.FreeMilli[a], n.FreeMilli[b]) })
	return serving[:pod.GPUs]
}
