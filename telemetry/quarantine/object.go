package quarantine

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/internal/fleet"
	"wastenot.dev/telemetry/health"
)

// maxEvidence bounds the evidence that an object carries.
const maxEvidence = 16

// objectName is the name of a device's quarantine: one device, one object. A UUID
// that is no name as it stands is replaced by its digest.
func objectName(uuid string) string {
	name := strings.ToLower(uuid)
	if !isLabel(name) {
		return fmt.Sprintf("device-%x", sha256.Sum256([]byte(uuid)))
	}
	return name
}

// isLabel tells whether the name is a DNS label, as every name of ours is. It stands
// for the library's check, which is slow for every device of a fleet.
func isLabel(name string) bool {
	const maxLabel = 63
	if name == "" || len(name) > maxLabel || name[0] == '-' || name[len(name)-1] == '-' {
		return false
	}
	return !strings.ContainsFunc(name, func(r rune) bool { return r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') })
}

// newObject builds the quarantine of a device that Failed.
func newObject(node string, d *fleet.Device) *v1alpha1.Quarantine {
	q := &v1alpha1.Quarantine{
		ObjectMeta: metav1.ObjectMeta{
			Name:   objectName(d.UUID),
			Labels: map[string]string{v1alpha1.LabelManagedBy: v1alpha1.ManagedByTelemetry},
		},
		Spec: v1alpha1.QuarantineSpec{Node: node, UUID: d.UUID, Model: modelOf(d), Reason: reasonOf(d), Action: d.Action},
	}
	q.Status = statusOf(d, false)
	return q
}

// modelOf is the product name as the API takes it: printable and not too long. What an
// exporter calls a device must not keep it from being quarantined.
func modelOf(d *fleet.Device) string {
	const longest = 128
	model := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return -1
		}
		return r
	}, d.Model)
	return model[:min(len(model), longest)]
}

// reasonOf is the code of the gravest finding.
func reasonOf(d *fleet.Device) string {
	if len(d.Reasons) == 0 {
		return string(v1alpha1.GradeFailed)
	}
	return d.Reasons[0].Code
}

// statusOf is what the device's state makes of the status.
func statusOf(d *fleet.Device, released bool) v1alpha1.QuarantineStatus {
	status := v1alpha1.QuarantineStatus{Phase: v1alpha1.PhaseActive, VendorExcludes: d.VendorExcludes}
	if !d.CleanSince.IsZero() {
		status.Phase = v1alpha1.PhaseProbation
		status.CleanSince = &metav1.Time{Time: d.CleanSince.Truncate(time.Second)}
	}
	if released {
		status.Phase = v1alpha1.PhaseReleased
	}
	for i := range d.Reasons {
		r := &d.Reasons[i]
		if r.Grade == v1alpha1.GradeUnknown || len(status.Evidence) == maxEvidence {
			continue
		}
		status.Evidence = append(status.Evidence, v1alpha1.Evidence{
			Code: r.Code, Grade: r.Grade, Detail: r.Detail, Source: r.Source,
			FirstSeen: metav1.Time{Time: r.FirstSeen.Truncate(time.Second)},
		})
	}
	return status
}

// managed tells whether telemetry made the object and may end it.
func managed(q *v1alpha1.Quarantine) bool {
	return q.Labels[v1alpha1.LabelManagedBy] == v1alpha1.ManagedByTelemetry
}

// Findings returns what the object holds against the device, for a new process to
// start from. An object whose status was never written still holds its reason.
func Findings(q *v1alpha1.Quarantine) []health.Finding {
	var findings []health.Finding
	for _, e := range q.Status.Evidence {
		findings = append(findings, health.Finding{
			Code: e.Code, Grade: e.Grade, Action: q.Spec.Action, Detail: e.Detail, Source: e.Source, FirstSeen: e.FirstSeen.Time,
		})
	}
	if len(findings) == 0 {
		findings = append(findings, health.Finding{
			Code: q.Spec.Reason, Grade: v1alpha1.GradeFailed, Action: q.Spec.Action, FirstSeen: q.CreationTimestamp.Time,
		})
	}
	return findings
}
