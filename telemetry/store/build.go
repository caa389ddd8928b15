package store

import (
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
		Activity: activity, ActivitySince: since, MIG: d.mig, LayoutUnknown: !d.layoutKnown,
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
