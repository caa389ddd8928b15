package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
)

// QuotaConfig says who the teams are and what each may hold. It is the content of
// quota.yaml in the ConfigMap wastenot-quota.
// +kubebuilder:object:generate=true
type QuotaConfig struct {
	// Teams lists the teams. A namespace belongs to one by its label wastenot.dev/team.
	// +optional
	Teams []Team `json:"teams,omitempty"`
	// Classes says what one unit of an accelerator class counts as, and names
	// DeviceClasses that are accelerators beside those that are known. Keys are resource
	// names, such as nvidia.com/gpu.shared, or deviceclass.resource.kubernetes.io/NAME.
	// +optional
	Classes map[string]AcceleratorClass `json:"classes,omitempty"`
}

// Team is one unit of ownership and quota.
type Team struct {
	// Name is a DNS label. It is the value of the label wastenot.dev/team.
	Name string `json:"name"`
	// Owner is who is asked about the team's pods, where a namespace says nothing else.
	// +optional
	Owner string `json:"owner,omitempty"`
	// CostCenter is who pays, where a namespace says nothing else.
	// +optional
	CostCenter string `json:"costCenter,omitempty"`
	// Groups are the identity groups of the team's people. A group is in one team.
	// +optional
	Groups []string `json:"groups,omitempty"`
	// Policy says what happens to a pod beyond the limits (default Reject).
	// +optional
	Policy QuotaPolicy `json:"policy,omitempty"`
	// Limits is what the team may hold at once, over all its namespaces.
	Limits QuotaLimits `json:"limits"`
}

// QuotaPolicy says what happens to a pod beyond its team's limits, in namespaces of
// mode enforce.
// +kubebuilder:validation:Enum=Reject;Queue
type QuotaPolicy string

// The policies.
const (
	// QuotaReject refuses the pod.
	QuotaReject QuotaPolicy = "Reject"
	// QuotaQueue admits the pod, and the scheduler holds it until it fits.
	QuotaQueue QuotaPolicy = "Queue"
)

// QuotaLimits bounds what a team holds. At least one of both must be given.
type QuotaLimits struct {
	// Devices bounds the sum over all classes, in devices: a MIG instance or a time
	// slice counts as its share of one.
	// +optional
	Devices *resource.Quantity `json:"devices,omitempty"`
	// Classes bounds single classes, in units. A class that is not listed is bounded by
	// Devices alone; where Devices is not given, the team may hold none of it.
	// +optional
	// +mapType=atomic
	Classes map[string]int64 `json:"classes,omitempty"`
}

// AcceleratorClass says what one unit of a class is.
type AcceleratorClass struct {
	// Devices is the share of a device that one unit counts as, such as 0.25 for one of
	// four time slices. By default a whole device or DRA device counts as 1, a MIG
	// instance as the greatest share that its profile has on any product, and a time
	// slice, whose number nobody knows at admission, as 1.
	Devices resource.Quantity `json:"devices"`
}
