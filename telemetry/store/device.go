package store

import (
	"cmp"
	"time"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/telemetry/health"
	"wastenot.dev/telemetry/idle"
	"wastenot.dev/telemetry/sample"
)

// device is the working state of one device.
type device struct {
	uuid, index, model, pciBusID string
	// home is the node that has it.
	home   *node
	health *health.Tracker
	idle   *idle.Tracker

	observedAt      time.Time
	ageIsLowerBound bool
	budget          time.Duration
	attribution     sample.Attribution
	holders         []sample.Holder
	// layoutKnown tells that a reading has shown whether and how the device is
	// partitioned: mig and partitions mean nothing without it.
	layoutKnown bool
	mig         bool
	partitions  []*partition
}

// partition is the working state of one MIG instance.
type partition struct {
	gi, ci, uuid, profile string
	idle                  *idle.Tracker
	attribution           sample.Attribution
	holders               []sample.Holder
}

func (d *device) key() deviceKey {
	if d.uuid == "" {
		return deviceKey{index: d.index}
	}
	return deviceKey{uuid: d.uuid}
}

// observe takes one device of a batch.
func (d *device) observe(batch *sample.Batch, in *sample.Device, idleWindow time.Duration) {
	if batch.ObservedAt.Before(d.observedAt) {
		return
	}
	d.health.Observe(batch.Source, batch.ObservedAt, batch.Budget, &in.Fields)
	d.idle.Observe(idle.Reading{
		ObservedAt: batch.ObservedAt, Budget: batch.Budget, Fields: &in.Fields, MIG: in.MIG,
		Attribution: in.Attribution, Holders: in.Holders,
	})
	d.index = cmp.Or(in.Index, d.index)
	d.model = cmp.Or(in.Model, d.model)
	d.pciBusID = cmp.Or(in.PCIBusID, d.pciBusID)
	d.observedAt, d.ageIsLowerBound, d.budget = batch.ObservedAt, batch.AgeIsLowerBound, batch.Budget
	d.attribution, d.holders = in.Attribution, in.Holders
	d.observeLayout(batch, in, idleWindow)
}

// observeLayout takes the layout where the reading shows one. A failing device may
// lose every row that would: what was known of it then stands for as long as anything
// counts against it, or it would look whole and its instances would look free.
func (d *device) observeLayout(batch *sample.Batch, in *sample.Device, idleWindow time.Duration) {
	shown := in.MIG || len(in.Partitions) > 0 || in.Fields[sample.FBUsed].IsKnown() || in.Fields[sample.GPUUtil].IsKnown()
	if !shown && len(d.health.Verdict(batch.ObservedAt).Findings) > 0 {
		return
	}
	d.layoutKnown, d.mig = shown, in.MIG
	d.observePartitions(batch, in.Partitions, idleWindow)
}

// observePartitions replaces the layout. An instance that was not there in the last
// pass starts without history, since ids come back with another layout.
func (d *device) observePartitions(batch *sample.Batch, in []sample.Partition, idleWindow time.Duration) {
	next := make([]*partition, 0, len(in))
	for i := range in {
		p := d.partition(&in[i])
		if p == nil {
			p = &partition{gi: in[i].GI, ci: in[i].CI, profile: in[i].Profile, idle: idle.NewTracker(idleWindow)}
		}
		p.uuid = cmp.Or(in[i].UUID, p.uuid)
		p.attribution, p.holders = in[i].Attribution, in[i].Holders
		p.idle.Observe(idle.Reading{
			ObservedAt: batch.ObservedAt, Budget: batch.Budget, Fields: &in[i].Fields, MIG: true,
			Attribution: in[i].Attribution, Holders: in[i].Holders,
		})
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

func (d *device) failed(now time.Time) bool {
	return d.uuid != "" && d.health.Verdict(now).Grade == v1alpha1.GradeFailed
}

// forgettable tells that no source has reported the device for so long that it is
// gone. What counts against a device keeps it.
func (d *device) forgettable(now time.Time, after time.Duration) bool {
	return !d.observedAt.IsZero() && now.Sub(d.observedAt) > after && len(d.health.Verdict(now).Findings) == 0
}
