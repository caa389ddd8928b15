package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Quarantine keeps new work off one device. It outlives every process of ours:
// while it exists and is not released, the scheduler gives the device to nobody.
//
// It ends by evidence (the fault is gone and stayed away for the probation
// window), or by an operator who sets spec.release. Deleting the object brings it
// back while the device is read and fails, and is for good once the device is no
// longer read, as after a card was replaced.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=quar,categories=wastenot
// +kubebuilder:printcolumn:name="Node",type=string,JSONPath=`.spec.node`
// +kubebuilder:printcolumn:name="Device",type=string,JSONPath=`.spec.uuid`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.spec.reason`
// +kubebuilder:printcolumn:name="Action",type=string,JSONPath=`.spec.action`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Since",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Evidence",type=string,priority=1,JSONPath=`.status.evidence[0].detail`
type Quarantine struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   QuarantineSpec   `json:"spec"`
	Status QuarantineStatus `json:"status,omitempty"`
}

// QuarantineSpec names the device and why it is kept apart.
type QuarantineSpec struct {
	// Node is the Kubernetes node that the device is in.
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	Node string `json:"node"`
	// UUID identifies the device, as the driver names it ("GPU-...").
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:Pattern=`^[!-~]+$`
	UUID string `json:"uuid"`
	// Model is the product name, for people.
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^[ -~]*$`
	// +optional
	Model string `json:"model,omitempty"`
	// Reason is a short CamelCase cause, such as XID79 or RowRemapFailure.
	// +kubebuilder:validation:Pattern=`^[A-Za-z][A-Za-z0-9]*$`
	Reason string `json:"reason"`
	// Action is what should be done about the device.
	// +optional
	Action Action `json:"action,omitempty"`
	// Release, when set, gives the device back to the scheduler although the
	// evidence still stands. The object stays until the evidence ends.
	// +optional
	Release *Release `json:"release,omitempty"`
}

// Release is an operator's decision to overrule a quarantine.
type Release struct {
	// Reason says why, for whoever reads it later.
	// +kubebuilder:validation:MinLength=1
	Reason string `json:"reason"`
}

// QuarantinePhase says where a quarantine is between fault and end.
// +kubebuilder:validation:Enum=Active;Probation;Released
type QuarantinePhase string

// The phases. Active and Probation keep work away; Released does not.
const (
	PhaseActive    QuarantinePhase = "Active"
	PhaseProbation QuarantinePhase = "Probation"
	PhaseReleased  QuarantinePhase = "Released"
)

// QuarantineStatus is what telemetry has seen of the fault.
type QuarantineStatus struct {
	// Phase is Active while the fault is seen, Probation once it is gone.
	// +optional
	Phase QuarantinePhase `json:"phase,omitempty"`
	// Evidence holds the readings behind the verdict, the gravest first.
	// +optional
	// +listType=atomic
	Evidence []Evidence `json:"evidence,omitempty"`
	// CleanSince is when the fault was last seen to be gone, during probation.
	// +optional
	CleanSince *metav1.Time `json:"cleanSince,omitempty"`
	// VendorExcludes tells that the vendor's device plugin takes the device out of
	// the node's allocatable by itself for this evidence.
	// +optional
	VendorExcludes bool `json:"vendorExcludes,omitempty"`
}

// Evidence is one reading that counts against a device.
type Evidence struct {
	// Code is the CamelCase reason, such as XID79.
	Code string `json:"code"`
	// Grade is what this reading alone makes of the device.
	Grade Grade `json:"grade"`
	// Detail is a sentence for people.
	// +optional
	Detail string `json:"detail,omitempty"`
	// Source says where the reading came from, such as dcgm.
	// +optional
	Source string `json:"source,omitempty"`
	// FirstSeen is when telemetry first read it.
	// +optional
	FirstSeen metav1.Time `json:"firstSeen,omitempty"`
}

// KeepsWorkAway tells whether the scheduler must avoid the device. A quarantine
// that is being deleted has ended.
func (q *Quarantine) KeepsWorkAway() bool {
	return q.Spec.Release == nil && q.DeletionTimestamp == nil
}

// QuarantineList is a list of quarantines.
// +kubebuilder:object:root=true
type QuarantineList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Quarantine `json:"items"`
}
