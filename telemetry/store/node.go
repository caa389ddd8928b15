package store

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"wastenot.dev/internal/fleet"
	"wastenot.dev/telemetry/health"
	"wastenot.dev/telemetry/idle"
	"wastenot.dev/telemetry/sample"
)

// node is the working state of one node.
type node struct {
	name, group string
	labels      map[string]string
	// placed tells that Kubernetes has the node. One that it does not have is not
	// published and only keeps what counts against its devices.
	placed  bool
	devices map[deviceKey]*device
}

// deviceKey tells devices of a node apart: by UUID, or by index where there is none.
type deviceKey struct{ uuid, index string }

func (n *node) take(d *device) {
	if d.home != nil {
		delete(d.home.devices, d.key())
	}
	d.home = n
	n.devices[d.key()] = d
}

func (s *Store) newDevice(uuid, index string) *device {
	d := &device{uuid: uuid, index: index, health: health.NewTracker(s.options.Policy), idle: idle.NewTracker(s.options.IdleWindow)}
	if uuid != "" {
		s.devices[uuid] = d
	}
	return d
}

func (s *Store) drop(d *device) {
	delete(d.home.devices, d.key())
	delete(s.devices, d.uuid)
}

// claim finds or makes the device that a reading of the node is about, and names the
// node that it was taken from, if any.
//
// A device is on one node. When two report it, as after a target that names the wrong
// node, the one that has it keeps it while its readings are believed, so that the
// device does not go back and forth. Whoever gets it gets its history.
func (s *Store) claim(n *node, in *sample.Device, at time.Time) (d *device, from string, err error) {
	if in.UUID == "" {
		d, err = s.claimUnnamed(n, in.Index)
		return d, "", err
	}
	// The same device, from a pass in which its UUID was lost.
	delete(n.devices, deviceKey{index: in.Index})
	d = s.devices[in.UUID]
	switch {
	case d == nil:
		d = s.newDevice(in.UUID, in.Index)
	case d.home == n:
		return d, "", nil
	case d.home.placed && at.Sub(d.observedAt) <= d.budget:
		return nil, "", fmt.Errorf("device %s is already read on node %s", d.uuid, d.home.name)
	default:
		from = d.home.name
	}
	n.take(d)
	return d, from, nil
}

// claimUnnamed finds a device that has no UUID by its index on the node. Where the
// index is that of a device with one, nobody can tell whether it is the same.
func (s *Store) claimUnnamed(n *node, index string) (*device, error) {
	if d := n.devices[deviceKey{index: index}]; d != nil {
		return d, nil
	}
	for _, d := range n.devices {
		if d.index == index {
			return nil, fmt.Errorf("a reading of gpu %s has no UUID, and may be of %s or not", index, d.uuid)
		}
	}
	d := s.newDevice("", index)
	n.take(d)
	return d, nil
}

// build makes the node's published form, nil when there is nothing to publish.
func (n *node) build(now time.Time) *fleet.Node {
	if n == nil || !n.placed || len(n.devices) == 0 {
		return nil
	}
	out := &fleet.Node{Name: n.name, Group: n.group, Labels: n.labels, Devices: make([]fleet.Device, 0, len(n.devices))}
	for _, d := range n.devices {
		out.Devices = append(out.Devices, d.build(now))
	}
	slices.SortFunc(out.Devices, func(a, b fleet.Device) int {
		return cmp.Or(cmp.Compare(ordinal(a.Index), ordinal(b.Index)), cmp.Compare(a.UUID, b.UUID), cmp.Compare(a.Index, b.Index))
	})
	out.CountFailed()
	return out
}

// ordinal orders indexes as numbers; what is no number comes last.
func ordinal(index string) int {
	number, err := strconv.Atoi(index)
	if err != nil {
		return int(^uint(0) >> 1)
	}
	return number
}
