// Package accelerator knows which extended resources are accelerators and how many
// of each a pod asks for.
//
// It provides resource names and the request of a pod. It does not know DRA claims
// yet, devices, prices or quota.
//
// The scheduler and the webhook use it, so that both read a pod alike.
//
// Start reading at RequestOf.
package accelerator
