package main

import (
	"fmt"

	"wastenot.dev/test/fixture/exporter"
	"wastenot.dev/test/fixture/rig"
)

const gpusPerNode = 8

// fleet is 24 nodes with 8 GPUs each: whole, MIG and time-sliced, of four products.
func fleet() []rig.NodeSpec {
	var nodes []rig.NodeSpec
	add := func(count int, prefix string, spec rig.NodeSpec) {
		for i := range count {
			spec.Name, spec.GPUs = fmt.Sprintf("%s-%02d", prefix, i), gpusPerNode
			nodes = append(nodes, spec)
		}
	}
	add(8, "h100", rig.NodeSpec{Model: "NVIDIA H100 80GB HBM3", Template: exporter.A100, Kind: rig.Whole, Group: "train"})
	add(4, "t4", rig.NodeSpec{Model: "Tesla T4", Template: exporter.T4, Kind: rig.Whole, Group: "batch"})
	add(6, "a100-mig", rig.NodeSpec{Model: "NVIDIA A100-SXM4-40GB", Template: exporter.A100MIG, Kind: rig.MIG, Group: "notebooks"})
	// The L4's exporter reports no XID, so nothing can be said of their health: they stay
	// Unknown, which is neither good nor bad.
	add(6, "l4-slices", rig.NodeSpec{Model: "NVIDIA L4", Template: exporter.L4, Kind: rig.TimeSliced, Replicas: 4, Group: "serving"})
	return nodes
}
