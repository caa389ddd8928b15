package main

import (
	"fmt"

	"wastenot.dev/test/fixture/exporter"
	"wastenot.dev/test/fixture/rig"
)

const gpusPerNode = 8

// fleet is 26 nodes with 8 GPUs each: whole, MIG, time-sliced and by DRA, of five products.
// The last are the cluster's own, the others are rented.
func fleet() []rig.NodeSpec {
	var nodes []rig.NodeSpec
	add := func(count int, prefix string, spec rig.NodeSpec) {
		for i := range count {
			spec.Name, spec.GPUs = fmt.Sprintf("%s-%02d", prefix, i), gpusPerNode
			nodes = append(nodes, spec)
		}
	}
	add(8, "h100", rig.NodeSpec{Model: "NVIDIA H100 80GB HBM3", Template: exporter.A100, Kind: rig.Whole, Group: "train", InstanceType: "p5.48xlarge"})
	add(4, "t4", rig.NodeSpec{Model: "Tesla T4", Template: exporter.T4, Kind: rig.Whole, Group: "batch", InstanceType: "g4dn.metal"})
	add(6, "a100-mig", rig.NodeSpec{Model: "NVIDIA A100-SXM4-40GB", Template: exporter.A100MIG, Kind: rig.MIG, Group: "notebooks", InstanceType: "p4d.24xlarge"})
	// The L4's exporter reports no XID, so nothing can be said of their health: they stay
	// Unknown, which is neither good nor bad.
	add(6, "l4-slices", rig.NodeSpec{Model: "NVIDIA L4", Template: exporter.L4, Kind: rig.TimeSliced, Replicas: 4, Group: "serving", InstanceType: "g6.48xlarge"})
	add(2, "h200-dra", rig.NodeSpec{Model: "NVIDIA H200", Template: exporter.A100, Kind: rig.DRA, Group: "research"})
	return nodes
}
