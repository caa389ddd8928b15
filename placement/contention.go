package placement

import (
	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/internal/accelerator"
	"wastenot.dev/internal/fleet"
)

// What it costs to get a device on which somebody works already, in thousandths of a
// device. A share of it competes for its engines. A whole one should be nobody else's: who
// works on it was not given it by Kubernetes.
const (
	sharedContention = 500
	wholeContention  = 1000
)

// Contention is what it costs, in thousandths of a device, that the request may get a
// device on which somebody works now: 0 where nobody does or nothing is known of it, and
// the worst where all are like that. A device that is held and idle costs nothing beyond
// being held.
func Contention(v *View, want accelerator.Request) int16 {
	if v.Node == nil || v.Stale {
		return 0
	}
	shared := want.Kind == accelerator.KindShared
	var serving, busy int
	for i := range v.Node.Devices {
		d := &v.Node.Devices[i]
		if !v.serves(d, want) || v.unfit(d) || (!shared && len(d.Holders) > 0) {
			continue
		}
		serving++
		if contended(d, shared) {
			busy++
		}
	}
	most := wholeContention
	if shared {
		most = sharedContention
	}
	return int16(most * busy / max(serving, 1))
}

// contended tells whether somebody works on the device with whom the request would share
// it, or who was not given it by Kubernetes.
func contended(d *fleet.Device, shared bool) bool {
	return working(d) && (shared || d.Attribution == attributionNone)
}

// attributionNone is what telemetry says of a device of which it knows that no pod holds
// it.
const attributionNone = "none"

// working tells whether something runs on the device. Under MIG only the instances say.
func working(d *fleet.Device) bool {
	return !d.MIG && (d.Activity == v1alpha1.ActivityBusy || d.Activity == v1alpha1.ActivityLowEfficiency)
}
