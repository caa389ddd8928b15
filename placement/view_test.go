package placement

import (
	"fmt"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/internal/accelerator"
	"wastenot.dev/internal/fleet"
	"wastenot.dev/internal/quarantine"
)

// What pods ask for in these tests.
var (
	wholeGPU  = accelerator.Request{Resource: "nvidia.com/gpu", Kind: accelerator.KindDevice, Count: 1}
	sharedGPU = accelerator.Request{Resource: "nvidia.com/gpu.shared", Kind: accelerator.KindShared, Count: 1}
	smallMIG  = accelerator.Request{Resource: "nvidia.com/mig-1g.10gb", Kind: accelerator.KindMIG, Profile: "1g.10gb", Count: 1}
	bigMIG    = accelerator.Request{Resource: "nvidia.com/mig-3g.40gb", Kind: accelerator.KindMIG, Profile: "3g.40gb", Count: 1}
	neuron    = accelerator.Request{Resource: "aws.amazon.com/neuroncore", Kind: accelerator.KindNeuron, Count: 1}
)

// device makes a device; its UUID is GPU-n for index n.
func device(index int, changes ...func(*fleet.Device)) fleet.Device {
	d := fleet.Device{UUID: fmt.Sprintf("GPU-%d", index), Index: fmt.Sprint(index), Vendor: "nvidia", Grade: v1alpha1.GradeHealthy}
	for _, change := range changes {
		change(&d)
	}
	return d
}

func graded(grade v1alpha1.Grade) func(*fleet.Device) {
	return func(d *fleet.Device) { d.Grade = grade }
}

func failed(d *fleet.Device) {
	d.Grade, d.Action = v1alpha1.GradeFailed, v1alpha1.ActionReplaceDevice
	d.Reasons = []fleet.Reason{{Code: "XID79", Detail: "fell off the bus"}, {Code: "XID13"}}
}

func vendorExcludes(d *fleet.Device) { d.VendorExcludes = true }

func layoutUnknown(d *fleet.Device) { d.LayoutUnknown = true }

// cut partitions the device; no profiles: the layout is not known.
func cut(profiles ...string) func(*fleet.Device) {
	return func(d *fleet.Device) {
		d.MIG = true
		for i, profile := range profiles {
			d.Partitions = append(d.Partitions, fleet.Partition{GI: fmt.Sprint(i), Profile: profile})
		}
	}
}

func aws(d *fleet.Device) { d.UUID, d.Vendor = "i-0abc-neuron-"+d.Index, "aws" }

// node makes a node of the devices.
func node(devices ...fleet.Device) *fleet.Node {
	n := &fleet.Node{Name: "node-1", Devices: devices}
	n.CountFailed()
	return n
}

func quarantined(uuid string) quarantine.Entry {
	return quarantine.Entry{UUID: uuid, Reason: "RowRemapFailure", Detail: "no rows are left", Action: v1alpha1.ActionReplaceDevice}
}

func released(uuid string) quarantine.Entry {
	entry := quarantined(uuid)
	entry.Released = true
	return entry
}
