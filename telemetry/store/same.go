package store

import (
	"maps"
	"slices"
	"time"

	"wastenot.dev/internal/fleet"
)

// sameNode tells whether two published forms say the same. That a reading was made
// again is no change; that it was made much later is, so that readers see ages.
func sameNode(a, b *fleet.Node) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Group == b.Group && maps.Equal(a.Labels, b.Labels) && equal(a.Devices, b.Devices, sameDevice)
}

func sameDevice(a, b *fleet.Device) bool {
	return sameIdentity(a, b) && sameVerdict(a, b) && sameUse(a, b) &&
		a.Budget == b.Budget && a.AgeIsLowerBound == b.AgeIsLowerBound &&
		b.ObservedAt.Sub(a.ObservedAt) < ageStep(b.Budget)
}

// ageStep is how much older than published a reading's time may grow.
func ageStep(budget time.Duration) time.Duration { return max(budget/3, time.Second) }

func sameIdentity(a, b *fleet.Device) bool {
	return a.UUID == b.UUID && a.Index == b.Index && a.Vendor == b.Vendor && a.Model == b.Model && a.PCIBusID == b.PCIBusID
}

func sameVerdict(a, b *fleet.Device) bool {
	return a.Grade == b.Grade && a.Action == b.Action && a.VendorExcludes == b.VendorExcludes &&
		a.CleanSince.Equal(b.CleanSince) && slices.Equal(a.Reasons, b.Reasons)
}

func sameUse(a, b *fleet.Device) bool {
	return a.Activity == b.Activity && a.ActivitySince.Equal(b.ActivitySince) && a.MIG == b.MIG && a.LayoutUnknown == b.LayoutUnknown &&
		a.Attribution == b.Attribution && slices.Equal(a.Holders, b.Holders) &&
		equal(a.Partitions, b.Partitions, samePartition)
}

func samePartition(a, b *fleet.Partition) bool {
	return a.GI == b.GI && a.CI == b.CI && a.UUID == b.UUID && a.Profile == b.Profile &&
		a.Activity == b.Activity && a.ActivitySince.Equal(b.ActivitySince) &&
		a.Attribution == b.Attribution && slices.Equal(a.Holders, b.Holders)
}

// equal compares by pointer, since devices are large.
func equal[T any](a, b []T, same func(a, b *T) bool) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !same(&a[i], &b[i]) {
			return false
		}
	}
	return true
}
