package simnode

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// Assignment is the node's own record that a container got devices.
type Assignment struct {
	Pod        PodRef
	Node       string
	Container  string
	Resource   string
	IDs        []string
	AdmittedAt time.Time
	ReleasedAt time.Time // zero while the pod holds them
}

// Assignments returns every assignment ever made or taken up by this fleet, in
// the order of admission, with those that are over. The copy is the caller's.
func (f *Fleet) Assignments() []Assignment {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := make([]Assignment, len(f.history))
	for i, assignment := range f.history {
		out[i] = *assignment
		out[i].IDs = slices.Clone(assignment.IDs)
	}
	return out
}

// Holders returns who holds which device of a node right now, by device id. Free
// ids are absent. It is nil for a node that the fleet does not have.
func (f *Fleet) Holders(node string) map[string]Holder {
	f.mu.Lock()
	defer f.mu.Unlock()
	member := f.nodes[node]
	if member == nil {
		return nil
	}
	return maps.Clone(member.holders)
}

// Devices returns the devices of a node with their present health, or nil.
func (f *Fleet) Devices(node string) []Device {
	f.mu.Lock()
	defer f.mu.Unlock()
	member := f.nodes[node]
	if member == nil {
		return nil
	}
	return slices.Clone(member.node.Devices)
}

// SetDeviceHealth changes the health of one device, as a device plugin reports
// it. The node's allocatable and the status of the holder follow at once. A pod
// that holds the device keeps running. It fails on an unknown node or id only.
func (f *Fleet) SetDeviceHealth(node, id string, healthy bool) error {
	f.mu.Lock()
	member := f.nodes[node]
	if member == nil {
		f.mu.Unlock()
		return fmt.Errorf("setting the health of device %s: no node %s", id, node)
	}
	holder, changed, known := member.setHealth(id, healthy)
	if t := f.pods[holder]; t != nil && changed {
		t.revision++
	}
	f.mu.Unlock()
	if !known {
		return fmt.Errorf("setting the health of device %s: not on node %s", id, node)
	}
	if !changed {
		return nil
	}
	f.queue.Add(item{kind: nodeItem, key: node})
	if holder != "" {
		f.queue.Add(item{kind: podItem, key: string(holder)})
	}
	f.onChange(node)
	return nil
}
