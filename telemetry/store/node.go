package store

import (
	"cmp"
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
	devices     map[string]*device
}

// device is the working state of one device.
type device struct {
	uuid, index, model, pciBusID string
	health                       *health.Tracker
	idle                         *idle.Tracker

	observedAt      time.Time
	ageIsLowerBound bool
	budget          time.Duration
	attribution     sample.Attribution
	holders         []sample.Holder
	mig             bool
	partitions      []*partition
}

// partition is the working state of one MIG instance.
type partition struct {
	gi, ci, uuid, profile string
	idle                  *idle.Tracker
	attribution           sample.Attribution
	holders               []sample.Holder
}

// device returns the device's state, making it when it is new. A device without a
// UUID is told apart by its index on the node.
func (n *node) device(uuid, index string, options Options) *device {
	key := uuid
	if key == "" {
		key = "index " + index
	}
	d := n.devices[key]
	if d == nil {
		d = &device{uuid: uuid, health: health.NewTracker(options.Policy), idle: idle.NewTracker(options.IdleWindow)}
		n.devices[key] = d
	}
	return d
}

// observe takes one device of a batch.
func (n *node) observe(batch *sample.Batch, in *sample.Device, options Options) {
	d := n.device(in.UUID, in.Index, options)
	if batch.ObservedAt.Before(d.observedAt) {
		return
	}
	d.health.Observe(batch.Source, batch.ObservedAt, batch.Budget, &in.Fields)
	d.idle.Observe(batch.ObservedAt, batch.Budget, &in.Fields, in.MIG, in.Attribution)
	d.index = cmp.Or(in.Index, d.index)
	d.model = cmp.Or(in.Model, d.model)
	d.pciBusID = cmp.Or(in.PCIBusID, d.pciBusID)
	d.observedAt, d.ageIsLowerBound, d.budget = batch.ObservedAt, batch.AgeIsLowerBound, batch.Budget
	d.attribution, d.holders, d.mig = in.Attribution, in.Holders, in.MIG
	d.observePartitions(batch, in.Partitions, options)
}

// observePartitions replaces the layout. An instance that was not there in the last
// pass starts without history, since ids come back with another layout.
func (d *device) observePartitions(batch *sample.Batch, in []sample.Partition, options Options) {
	next := make([]*partition, 0, len(in))
	for i := range in {
		p := d.partition(&in[i])
		if p == nil {
			p = &partition{gi: in[i].GI, ci: in[i].CI, profile: in[i].Profile, idle: idle.NewTracker(options.IdleWindow)}
		}
		p.uuid = cmp.Or(in[i].UUID, p.uuid)
		p.attribution, p.holders = in[i].Attribution, in[i].Holders
		p.idle.Observe(batch.ObservedAt, batch.Budget, &in[i].Fields, true, in[i].Attribution)
		next = append(next, p)
	}
	d.partitions = next
}

func (d *device) partition(in *sample.Partition) *partition {
	for _, p := range d.partitions {
		if p.gi == in.GI && p.ci == in.CI && p.profile == in.Profile {
			return p
		}
	}
	return nil
}

// forget drops devices that no source has reported for a while, unless something
// counts against them.
func (n *node) forget(now time.Time, after time.Duration) {
	for key, d := range n.devices {
		if !d.observedAt.IsZero() && now.Sub(d.observedAt) > after && len(d.health.Verdict(now).Findings) == 0 {
			delete(n.devices, key)
		}
	}
}

// build makes the node's published form.
func (n *node) build(now time.Time) *fleet.Node {
	out := &fleet.Node{Name: n.name, Group: n.group, Labels: n.labels}
	for _, d := range n.devices {
		out.Devices = append(out.Devices, d.build(now))
	}
	slices.SortFunc(out.Devices, func(a, b fleet.Device) int {
		return cmp.Or(cmp.Compare(ordinal(a.Index), ordinal(b.Index)), cmp.Compare(a.UUID, b.UUID))
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
