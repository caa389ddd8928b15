package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
)

// MixPolicy says from what telemetry starts to learn which requests arrive, and how fast
// it forgets. It is the content of mix.yaml in the ConfigMap wastenot-policy; what it
// leaves out keeps its default.
// +kubebuilder:object:generate=true
type MixPolicy struct {
	// HalfLife is after how many requests what was learnt counts half (default 4096).
	// +optional
	HalfLife *int64 `json:"halfLife,omitempty"`
	// Seed is what is expected before anything has been learnt. By default nothing is.
	// +optional
	Seed []MixSeed `json:"seed,omitempty"`
}

// MixSeed is one kind of request that is expected.
// +kubebuilder:object:generate=true
type MixSeed struct {
	// Resource is the accelerator resource that is asked for, such as nvidia.com/gpu.
	Resource string `json:"resource"`
	// Count is how many units of it (default 1).
	// +optional
	Count *int64 `json:"count,omitempty"`
	// CPU and Memory are what the pod asks for beside it (default 0), such as "12" and
	// 64Gi.
	// +optional
	CPU *resource.Quantity `json:"cpu,omitempty"`
	// +optional
	Memory *resource.Quantity `json:"memory,omitempty"`
	// Products are the values of nvidia.com/gpu.product that the pod accepts; any by
	// default.
	// +optional
	Products []string `json:"products,omitempty"`
	// Weight is how many requests of the kind it stands for (default 1). More than
	// HalfLife counts as HalfLife.
	// +optional
	Weight *int64 `json:"weight,omitempty"`
}
