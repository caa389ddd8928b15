package placement

import (
	"fmt"

	"wastenot.dev/internal/accelerator"
	"wastenot.dev/internal/fleet"
	"wastenot.dev/internal/quarantine"
)

// Unfit is one device that must not get the request, and why.
type Unfit struct {
	UUID, Index string
	// Reason is the CamelCase cause and Detail a sentence; Action says what to do.
	Reason, Detail, Action string
}

// String says it in the form that messages use.
func (u Unfit) String() string {
	text := u.UUID
	if u.Index != "" {
		text = fmt.Sprintf("gpu %s (%s)", u.Index, u.UUID)
	}
	text += " " + u.Reason
	if u.Action != "" && u.Action != "None" {
		text += ", needs " + u.Action
	}
	return text
}

// Check returns the unfit devices that the kubelet could still give to the request;
// nil means that the node may be used. It allocates only when it finds something.
//
// The kubelet picks among its free devices at random, so one unfit device closes
// the node for every resource that the device serves. It does not when the kubelet
// cannot hand it out, which takes proof: see reachable.
func Check(v *View, want accelerator.Request) []Unfit {
	if len(v.Quarantined) == 0 && !anyFailed(v.Node) {
		return nil
	}
	unfit := v.listUnfit(want)
	if len(unfit) == 0 || !v.reachable(want) {
		return nil
	}
	return unfit
}

func anyFailed(node *fleet.Node) bool {
	return node != nil && node.Failed > 0
}

func (v *View) listUnfit(want accelerator.Request) []Unfit {
	var unfit []Unfit
	if v.Node != nil {
		for i := range v.Node.Devices {
			d := &v.Node.Devices[i]
			if v.unfit(d) && v.serves(d, want) {
				unfit = append(unfit, v.explain(d))
			}
		}
	}
	for i := range v.Quarantined {
		if q := &v.Quarantined[i]; !q.Released && v.absent(q, want) {
			unfit = append(unfit, Unfit{UUID: q.UUID, Reason: q.Reason, Detail: q.Detail, Action: string(q.Action)})
		}
	}
	return unfit
}

// absent tells whether the quarantined device is one that telemetry does not know,
// because it is down or the device has vanished. Which resources the device serves is
// not known then, so it counts for all of its kind.
func (v *View) absent(q *quarantine.Entry, want accelerator.Request) bool {
	return v.Node.Device(q.UUID) == nil && isNeuron(q.UUID, "") == (want.Kind == accelerator.KindNeuron)
}

func (v *View) explain(d *fleet.Device) Unfit {
	u := Unfit{UUID: d.UUID, Index: d.Index, Reason: "Failed", Action: string(d.Action)}
	if len(d.Reasons) > 0 {
		u.Reason, u.Detail = d.Reasons[0].Code, d.Reasons[0].Detail
	}
	if q := v.quarantined(d.UUID); q != nil {
		u.Reason, u.Action = q.Reason, string(q.Action)
		if q.Detail != "" {
			u.Detail = q.Detail
		}
	}
	return u
}

// reachable tells whether the kubelet may still hand out an unfit device.
//
// Kubernetes publishes how many units a node has left healthy, not which. So the
// count proves something only when it is exactly the count that the vendor's device
// plugin is expected to have taken out, and every unfit device is among those. Any
// mismatch, also one to the other side, leaves the node closed.
func (v *View) reachable(want accelerator.Request) bool {
	for i := range v.Quarantined {
		// Also one that was given back spoils the count when the vendor takes it out.
		if q := &v.Quarantined[i]; (!q.Released || q.VendorExcludes) && v.absent(q, want) {
			return true
		}
	}
	excluded, known := v.excludedUnits(want)
	return !known || v.Capacity-v.Allocatable != excluded
}

// excludedUnits returns how many units of the request's resource the vendor's device
// plugin is expected to have taken out; false when that is not known, or when an unfit
// device is not among them.
func (v *View) excludedUnits(want accelerator.Request) (int64, bool) {
	var excluded int64
	serving := v.countServing(want)
	for i := range v.Node.Devices {
		d := &v.Node.Devices[i]
		if !v.serves(d, want) {
			continue
		}
		if !v.vendorExcludes(d) {
			if v.unfit(d) {
				return 0, false
			}
			continue
		}
		units := v.unitsOf(d, want, serving)
		if units == 0 {
			return 0, false
		}
		excluded += units
	}
	return excluded, true
}

func (v *View) countServing(want accelerator.Request) int64 {
	var serving int64
	for i := range v.Node.Devices {
		if v.serves(&v.Node.Devices[i], want) {
			serving++
		}
	}
	return serving
}

func (v *View) vendorExcludes(d *fleet.Device) bool {
	if d.VendorExcludes {
		return true
	}
	q := v.quarantined(d.UUID)
	return q != nil && q.VendorExcludes
}

// unitsOf is how many units of the request's resource the device gives, 0 when
// that is not known. Devices that are not split up by profile give equally many, so
// this takes that telemetry knows all of them.
func (v *View) unitsOf(d *fleet.Device, want accelerator.Request, serving int64) int64 {
	if d.LayoutUnknown && (want.Kind == accelerator.KindMIG || v.MixedMIG) {
		return 0
	}
	if want.Kind == accelerator.KindMIG {
		return profileCount(d, want.Profile)
	}
	if serving == 0 || v.Capacity%serving != 0 {
		return 0
	}
	return v.Capacity / serving
}
