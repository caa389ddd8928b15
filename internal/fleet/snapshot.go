package fleet

import (
	"time"

	"wastenot.dev/api/v1alpha1"
)

// Snapshot is the state of every known device at one generation. It is immutable.
type Snapshot struct {
	// Epoch identifies one life of telemetry; generations compare within it only.
	Epoch string
	// Generation grows with every change.
	Generation uint64
	// Nodes holds each node by name. A node that telemetry does not know is absent,
	// which means Unknown, not healthy.
	Nodes map[string]*Node
	// Mix is what pods ask for lately; nil is not known, which is not the same as empty.
	Mix *Mix
}

// Node is one node's devices.
type Node struct {
	Name string
	// Group is the node pool or node group, empty when no label tells.
	Group string
	// Labels are the node labels that telemetry was told to attach.
	Labels  map[string]string
	Devices []Device
	// Failed counts the devices whose grade is Failed, so that the common case of
	// none costs a reader one comparison. CountFailed sets it.
	Failed int
}

// CountFailed sets Failed from the devices. Whoever builds a node calls it before
// the node is published.
func (n *Node) CountFailed() {
	n.Failed = 0
	for i := range n.Devices {
		if n.Devices[i].Grade == v1alpha1.GradeFailed {
			n.Failed++
		}
	}
}

// Device is one physical accelerator with its verdict.
type Device struct {
	UUID, Index, Vendor, Model, PCIBusID string

	Grade   v1alpha1.Grade
	Reasons []Reason
	Action  v1alpha1.Action
	// VendorExcludes tells that the vendor's device plugin takes the device out of
	// the node's allocatable by itself for this evidence.
	VendorExcludes bool
	// CleanSince is when everything in Reasons was gone; zero while any of it stands.
	CleanSince time.Time

	// ObservedAt is when the readings were made; with AgeIsLowerBound they may be
	// older. After Budget they are not believed.
	ObservedAt      time.Time
	AgeIsLowerBound bool
	Budget          time.Duration

	Activity      v1alpha1.Activity
	ActivitySince time.Time
	// LayoutUnknown tells that no reading has shown whether and how the device is
	// partitioned, so that it may serve anything.
	LayoutUnknown bool
	// MIG tells that the device is partitioned into MIG instances.
	MIG         bool
	Partitions  []Partition
	Attribution string
	Holders     []Holder
}

// Partition is one MIG instance of a device, keyed by the device's UUID, GI and CI.
type Partition struct {
	GI, CI, UUID, Profile string
	Activity              v1alpha1.Activity
	ActivitySince         time.Time
	Attribution           string
	Holders               []Holder
}

// Holder is a container that has the device or partition, as far as is known.
type Holder struct {
	Namespace, Pod, Container, Claim string
}

// Reason is one reading that counts against a device.
type Reason struct {
	Code           string
	Grade          v1alpha1.Grade
	Detail, Source string
	FirstSeen      time.Time
}

// Empty is the snapshot of a client that has heard nothing yet.
var Empty = &Snapshot{Nodes: map[string]*Node{}}

// Node returns the named node, or nil when telemetry does not know it.
func (s *Snapshot) Node(name string) *Node { return s.Nodes[name] }

// Device returns the device with the UUID on the node, or nil.
func (n *Node) Device(uuid string) *Device {
	if n == nil {
		return nil
	}
	for i := range n.Devices {
		if n.Devices[i].UUID == uuid {
			return &n.Devices[i]
		}
	}
	return nil
}
