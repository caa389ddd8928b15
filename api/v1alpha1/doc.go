// Package v1alpha1 holds the names and types that people type or read: labels,
// annotations, grades, actions, event reasons, the resources Quarantine and
// QuotaLedger, and the content of our ConfigMaps and plugin arguments.
//
// It does nothing with them. It is a leaf: it imports no other package of ours,
// and every other package may import it.
//
// Start reading at Quarantine and Grade.
//
// +kubebuilder:object:generate=true
// +groupName=wastenot.dev
package v1alpha1
