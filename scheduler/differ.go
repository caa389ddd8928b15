package scheduler

import (
	"slices"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/internal/fleet"
)

// nodesDiffer tells whether the two states of a node hold different devices or a
// device that is not the same; either state may be nil.
func nodesDiffer(old, current *fleet.Node, same func(a, b *fleet.Device) bool) bool {
	if old == nil || current == nil {
		return old != current
	}
	if len(old.Devices) != len(current.Devices) {
		return true
	}
	for i := range current.Devices {
		now, before := &current.Devices[i], &old.Devices[i]
		if before.UUID != now.UUID {
			// Rarely, the order has changed.
			before = old.Device(now.UUID)
		}
		if before == nil || !same(before, now) {
			return true
		}
	}
	return false
}

// sameVerdict compares what filter and score read.
func sameVerdict(a, b *fleet.Device) bool { return a.Grade == b.Grade && sameForFilter(a, b) }

// sameForFilter compares what the filter reads: of the grades only Failed counts.
func sameForFilter(a, b *fleet.Device) bool {
	return (a.Grade == v1alpha1.GradeFailed) == (b.Grade == v1alpha1.GradeFailed) &&
		a.VendorExcludes == b.VendorExcludes && a.Vendor == b.Vendor && a.MIG == b.MIG && a.LayoutUnknown == b.LayoutUnknown &&
		slices.EqualFunc(a.Partitions, b.Partitions, func(a, b fleet.Partition) bool { return a.Profile == b.Profile })
}
