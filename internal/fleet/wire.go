package fleet

import (
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	telemetryv1alpha1 "wastenot.dev/api/telemetry/v1alpha1"
	"wastenot.dev/api/v1alpha1"
)

// ToWire converts a node for sending.
func ToWire(node *Node) *telemetryv1alpha1.Node {
	out := &telemetryv1alpha1.Node{Name: node.Name, Group: node.Group, Labels: node.Labels}
	for i := range node.Devices {
		out.Devices = append(out.Devices, deviceToWire(&node.Devices[i]))
	}
	return out
}

// FromWire converts a received node. Values that this version does not know become
// Unknown, so that a newer telemetry cannot make a device look healthy here.
func FromWire(node *telemetryv1alpha1.Node) *Node {
	out := &Node{Name: node.GetName(), Group: node.GetGroup(), Labels: node.GetLabels()}
	for _, device := range node.GetDevices() {
		out.Devices = append(out.Devices, deviceFromWire(device))
	}
	out.CountFailed()
	return out
}

func deviceToWire(d *Device) *telemetryv1alpha1.Device {
	out := &telemetryv1alpha1.Device{
		Uuid: d.UUID, Index: d.Index, Vendor: d.Vendor, Model: d.Model, PciBusId: d.PCIBusID,
		Grade: string(d.Grade), Action: string(d.Action), VendorExcludes: d.VendorExcludes,
		ObservedAt: stamp(d.ObservedAt), AgeIsLowerBound: d.AgeIsLowerBound, Budget: durationpb.New(d.Budget),
		Activity: string(d.Activity), ActivitySince: stamp(d.ActivitySince),
		Mig: d.MIG, Attribution: d.Attribution, Holders: holdersToWire(d.Holders),
		CleanSince: stamp(d.CleanSince), LayoutUnknown: d.LayoutUnknown,
	}
	for _, r := range d.Reasons {
		out.Reasons = append(out.Reasons, &telemetryv1alpha1.Reason{
			Code: r.Code, Grade: string(r.Grade), Detail: r.Detail, Source: r.Source, FirstSeen: stamp(r.FirstSeen),
		})
	}
	for _, p := range d.Partitions {
		out.Partitions = append(out.Partitions, &telemetryv1alpha1.Partition{
			Gi: p.GI, Ci: p.CI, Uuid: p.UUID, Profile: p.Profile,
			Activity: string(p.Activity), ActivitySince: stamp(p.ActivitySince),
			Attribution: p.Attribution, Holders: holdersToWire(p.Holders),
		})
	}
	return out
}

func deviceFromWire(d *telemetryv1alpha1.Device) Device {
	out := Device{
		UUID: d.GetUuid(), Index: d.GetIndex(), Vendor: d.GetVendor(), Model: d.GetModel(), PCIBusID: d.GetPciBusId(),
		Grade: knownGrade(d.GetGrade()), Action: v1alpha1.Action(d.GetAction()), VendorExcludes: d.GetVendorExcludes(),
		ObservedAt: instant(d.GetObservedAt()), AgeIsLowerBound: d.GetAgeIsLowerBound(), Budget: d.GetBudget().AsDuration(),
		Activity: v1alpha1.Activity(d.GetActivity()), ActivitySince: instant(d.GetActivitySince()),
		MIG: d.GetMig(), Attribution: d.GetAttribution(), Holders: holdersFromWire(d.GetHolders()),
		CleanSince: instant(d.GetCleanSince()), LayoutUnknown: d.GetLayoutUnknown(),
	}
	for _, r := range d.GetReasons() {
		out.Reasons = append(out.Reasons, Reason{
			Code: r.GetCode(), Grade: knownGrade(r.GetGrade()), Detail: r.GetDetail(), Source: r.GetSource(), FirstSeen: instant(r.GetFirstSeen()),
		})
	}
	for _, p := range d.GetPartitions() {
		out.Partitions = append(out.Partitions, Partition{
			GI: p.GetGi(), CI: p.GetCi(), UUID: p.GetUuid(), Profile: p.GetProfile(),
			Activity: v1alpha1.Activity(p.GetActivity()), ActivitySince: instant(p.GetActivitySince()),
			Attribution: p.GetAttribution(), Holders: holdersFromWire(p.GetHolders()),
		})
	}
	return out
}

func knownGrade(name string) v1alpha1.Grade {
	switch grade := v1alpha1.Grade(name); grade {
	case v1alpha1.GradeHealthy, v1alpha1.GradeSuspect, v1alpha1.GradeDegraded, v1alpha1.GradeFailed:
		return grade
	default:
		return v1alpha1.GradeUnknown
	}
}

func holdersToWire(holders []Holder) []*telemetryv1alpha1.Holder {
	var out []*telemetryv1alpha1.Holder
	for _, h := range holders {
		out = append(out, &telemetryv1alpha1.Holder{Namespace: h.Namespace, Pod: h.Pod, Container: h.Container, Claim: h.Claim})
	}
	return out
}

func holdersFromWire(holders []*telemetryv1alpha1.Holder) []Holder {
	var out []Holder
	for _, h := range holders {
		out = append(out, Holder{Namespace: h.GetNamespace(), Pod: h.GetPod(), Container: h.GetContainer(), Claim: h.GetClaim()})
	}
	return out
}

func stamp(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}

func instant(t *timestamppb.Timestamp) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.AsTime()
}
