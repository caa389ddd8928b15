package sample

import "time"

// Batch is what one source said about one node in one pass.
type Batch struct {
	// Source names the kind of source ("dcgm") and Endpoint the one that was read.
	Source, Endpoint string
	// Node is the Kubernetes node, empty when the source does not tell.
	Node string
	// ObservedAt is when the source made the readings. With AgeIsLowerBound the
	// source gave no time, so this is when they were fetched and they may be older.
	ObservedAt      time.Time
	AgeIsLowerBound bool
	// Budget is how long the readings may be believed after ObservedAt (design D2).
	Budget time.Duration
	// Devices holds each physical device once.
	Devices []Device
	// Problems lists what was lost on the way, so that partial failure is data.
	Problems []Problem
}

// Problem is one part of a source's answer that could not be used.
type Problem struct {
	// Where names the metric family or the line, and Why says what is wrong with it.
	Where, Why string
}

// Device is one physical accelerator as one source saw it.
type Device struct {
	// UUID identifies the device. It is empty when the source named none; such a
	// device is told apart by Index only and is never quarantined.
	UUID string
	// Index is the ordinal on the node, for messages; it changes across reboots.
	Index string
	// Model, PCIBusID (normalised by NormalizePCI) and DriverVersion as reported.
	Model, PCIBusID, DriverVersion string
	// Fields are the readings of the whole device.
	Fields Fields
	// MIG tells whether the source saw MIG instances on the device.
	MIG bool
	// Partitions are the MIG instances, in order of GI then CI. Time slices have no
	// rows of their own: they are one device with several holders.
	Partitions []Partition
	// Attribution and Holders say who has the device, as far as the source knows.
	// On a MIG device they come from whole-GPU rows only, if there are any: who
	// holds an instance is on its Partition.
	Attribution Attribution
	Holders     []Holder
}

// Partition is one MIG instance. Its key is the parent's UUID with GI and CI.
type Partition struct {
	// GI and CI are the GPU-instance and compute-instance ids; CI may be empty.
	GI, CI string
	// UUID is the MIG UUID where the source tells it; it can come back with another
	// layout, so it is no key.
	UUID string
	// Profile is the MIG profile, such as 1g.5gb.
	Profile string
	// Fields are the readings of the instance alone; board-level readings such as
	// power and temperature are kept on the Device. XID is on both, so that a fault
	// can be told to belong to one instance.
	Fields      Fields
	Attribution Attribution
	Holders     []Holder
}

// Holder is a container to which a device or partition is assigned.
type Holder struct {
	Namespace, Pod, Container string
	// Claim is "namespace/name" of the ResourceClaim, for DRA devices.
	Claim string
}

// Attribution says what a source's silence about holders is worth.
type Attribution int

const (
	// AttributionUnknown: the source cannot tell who holds the device.
	AttributionUnknown Attribution = iota
	// AttributionEmpty: pod labels are there and empty everywhere. The device may still
	// be held by a pod that got it around the device plugin.
	AttributionEmpty
	// AttributionNone: nobody holds it as far as labels say.
	AttributionNone
	// AttributionHeld: Holders lists who holds it.
	AttributionHeld
)

// String names the attribution for messages.
func (a Attribution) String() string {
	switch a {
	case AttributionEmpty:
		return "empty"
	case AttributionNone:
		return "none"
	case AttributionHeld:
		return "held"
	default:
		return "unknown"
	}
}
