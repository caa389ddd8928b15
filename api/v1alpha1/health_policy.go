package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// HealthPolicy changes how readings are graded. It is the content of health.yaml in
// the ConfigMap wastenot-policy; what it leaves out keeps its default.
// +kubebuilder:object:generate=true
type HealthPolicy struct {
	// Probation is how long a device must show a clean reading of what it failed,
	// without a gap, until it is trusted again (default 10m).
	// +optional
	Probation *metav1.Duration `json:"probation,omitempty"`
	// Throttle says when a clock held down by hardware counts against a device.
	// +optional
	Throttle ThrottlePolicy `json:"throttle,omitempty"`
	// PCIeReplaysPerMinute is the rate above which a device is Suspect (default 60).
	// The count itself says nothing: healthy boards show hundreds.
	// +optional
	PCIeReplaysPerMinute *int64 `json:"pcieReplaysPerMinute,omitempty"`
	// XID overrides the grade and action of single codes, keyed by code.
	// +optional
	XID map[string]XIDPolicy `json:"xid,omitempty"`
}

// ThrottlePolicy gives the times after which throttling is graded.
type ThrottlePolicy struct {
	// SuspectAfter makes the device Suspect (default 30s).
	// +optional
	SuspectAfter *metav1.Duration `json:"suspectAfter,omitempty"`
	// DegradedAfter makes it Degraded (default 10m).
	// +optional
	DegradedAfter *metav1.Duration `json:"degradedAfter,omitempty"`
}

// XIDPolicy is what one XID code says about its device.
type XIDPolicy struct {
	// Grade is Healthy, Suspect, Degraded or Failed.
	Grade Grade `json:"grade"`
	// Action is what should be done.
	// +optional
	Action Action `json:"action,omitempty"`
}
