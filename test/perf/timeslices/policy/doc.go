// Package policy has the ways to place pods on time-sliced GPUs that the replay compares.
//
// It provides a registry from names to constructors: spread (as NVIDIA's device plugin
// does), pack, and ours at several prices for a busy co-tenant. It does not check
// placements; package replay does.
//
// Invariants: a policy finds a replica whenever one is free, changes nothing, and answers
// the same for the same seed. Start reading at New.
package policy
