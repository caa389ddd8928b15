package store

import (
	"maps"
	"slices"
	"time"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/internal/fleet"
	"wastenot.dev/telemetry/sample"
)

const vendorNVIDIA = "nvidia"

// build makes the device's published form.
func (d *device) build(now time.Time) fleet.Device {
	verdict := d.health.Verdict(now)
	activity, since := d.idle.Activity(now)
	out := fleet.Device{
		UUID: d.uuid, Index: d.index, Vendor: vendorNVIDIA, Model: d.model, PCIBusID: d.pciBusID,
		Grade: verdict.Grade, Action: verdict.Action, VendorExcludes: verdict.VendorExcludes, CleanSince: verdict.CleanSince(),
		ObservedAt: d.observedAt, AgeIsLowerBound: d.ageIsLowerBound, Budget: d.budget,
		Activity: activity, ActivitySince: since, MIG: d.mig,
		Attribution: d.attribution.String(), Holders: buildHolders(d.holders),
	}
	for i := range verdict.Findings {
		f := &verdict.Findings[i]
		out.Reasons = append(out.Reasons, fleet.Reason{Code: f.Code, Grade: f.Grade, Detail: f.Detail, Source: f.Source, FirstSeen: f.FirstSeen})
	}
	if verdict.Why != "" {
		out.Reasons = append(out.Reasons, fleet.Reason{Code: "NoReading", Grade: v1alpha1.GradeUnknown, Detail: verdict.Why})
	}
	for _, p := range d.partitions {
		activity, since := p.idle.Activity(now)
		out.Partitions = append(out.Partitions, fleet.Partition{
			GI: p.gi, CI: p.ci, UUID: p.uuid, Profile: p.profile, Activity: activity, ActivitySince: since,
			Attribution: p.attribution.String(), Holders: buildHolders(p.holders),
		})
	}
	return out
}

func buildHolders(holders []sample.Holder) []fleet.Holder {
	var out []fleet.Holder
	for _, h := range holders {
		out = append(out, fleet.Holder(h))
	}
	return out
}

// sameNode tells whether two published forms say the same. That a reading was made
// again is no change; that it was made much later is, so that readers see ages.
func sameNode(a, b *fleet.Node) bool {
	if a == nil || b == nil {
		return a == b
	}
	if a.Group != b.Group || !maps.Equal(a.Labels, b.Labels) || len(a.Devices) != len(b.Devices) {
		return false
	}
	for i := range a.Devices {
		if !sameDevice(&a.Devices[i], &b.Devices[i]) {
			return false
		}
	}
	return true
}

func sameDevice(a, b *fleet.Device) bool {
	return a.UUID == b.UUID && a.Index == b.Index && a.Model == b.Model && a.PCIBusID == b.PCIBusID &&
		sameVerdict(a, b) && sameUse(a, b) &&
		a.Budget == b.Budget && a.AgeIsLowerBound == b.AgeIsLowerBound &&
		b.ObservedAt.Sub(a.ObservedAt) < ageStep(b.Budget)
}

// ageStep is how much older than published a reading's time may grow.
func ageStep(budget time.Duration) time.Duration { return max(budget/3, time.Second) }

func sameVerdict(a, b *fleet.Device) bool {
	return a.Grade == b.Grade && a.Action == b.Action && a.VendorExcludes == b.VendorExcludes &&
		a.CleanSince.Equal(b.CleanSince) && slices.Equal(a.Reasons, b.Reasons)
}

func sameUse(a, b *fleet.Device) bool {
	if a.Activity != b.Activity || a.MIG != b.MIG || a.Attribution != b.Attribution || !slices.Equal(a.Holders, b.Holders) || len(a.Partitions) != len(b.Partitions) {
		return false
	}
	for i := range a.Partitions {
		p, q := &a.Partitions[i], &b.Partitions[i]
		if p.GI != q.GI || p.CI != q.CI || p.UUID != q.UUID || p.Profile != q.Profile ||
			p.Activity != q.Activity || p.Attribution != q.Attribution || !slices.Equal(p.Holders, q.Holders) {
			return false
		}
	}
	return true
}
