package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// QuotaLedger is what one team may hold and holds. It bears the team's name. Only
// Wastenot writes it, always the whole object at once and never over another's
// change, so that limits, use and reservations can never disagree. Its lists and maps
// are atomic: the API server would otherwise track who set which reservation, which costs
// it more than all else.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName=ledger,categories=wastenot
// +kubebuilder:printcolumn:name="Use",type=string,JSONPath=`.status.use`
// +kubebuilder:printcolumn:name="Policy",type=string,JSONPath=`.spec.policy`
// +kubebuilder:printcolumn:name="Counted",type=date,JSONPath=`.status.asOf`
type QuotaLedger struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   QuotaLedgerSpec   `json:"spec"`
	Status QuotaLedgerStatus `json:"status,omitempty"`
}

// QuotaLedgerSpec is the team's part of the quota configuration.
type QuotaLedgerSpec struct {
	// ConfigHash identifies the configuration that this was taken from.
	ConfigHash string `json:"configHash"`
	// Policy says what happens to a pod beyond the limits.
	Policy QuotaPolicy `json:"policy"`
	// Limits is what the team may hold at once.
	Limits QuotaLimits `json:"limits"`
	// Classes says what one unit of a class counts as, where the configuration says so.
	// +optional
	// +mapType=atomic
	Classes map[string]AcceleratorClass `json:"classes,omitempty"`
}

// QuotaLedgerStatus is what the team holds.
type QuotaLedgerStatus struct {
	// Devices is all that is used, committed and reserved, in devices.
	// +optional
	Devices *resource.Quantity `json:"devices,omitempty"`
	// Use is the same for people, beside each limit: "devices 3.25/16, nvidia.com/gpu 3/8".
	// +optional
	Use string `json:"use,omitempty"`
	// Committed is what the team's pods held when they were last counted, in units by
	// class.
	// +optional
	// +mapType=atomic
	Committed map[string]int64 `json:"committed,omitempty"`
	// AsOf is when they were counted; absent before the first count.
	// +optional
	AsOf *metav1.MicroTime `json:"asOf,omitempty"`
	// Counts is how often a count was written. While it stays, nothing was taken out of
	// the reservations.
	// +optional
	Counts int64 `json:"counts,omitempty"`
	// Reservations are pods that were admitted since and that no count has seen.
	// +optional
	// +listType=atomic
	Reservations []QuotaReservation `json:"reservations,omitempty"`
}

// QuotaReservation is a pod that was admitted and may not be stored yet.
type QuotaReservation struct {
	// UID is the pod's.
	UID types.UID `json:"uid"`
	// Namespace and Name are the pod's, for people.
	Namespace string `json:"namespace"`
	// +optional
	Name string `json:"name,omitempty"`
	// Demand is what the pod asks for, in units by class.
	// +mapType=atomic
	Demand map[string]int64 `json:"demand"`
	// At is when it was admitted, by the clock of whoever admitted it.
	At metav1.MicroTime `json:"at"`
}

// QuotaLedgerList is a list of ledgers.
// +kubebuilder:object:root=true
type QuotaLedgerList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []QuotaLedger `json:"items"`
}
