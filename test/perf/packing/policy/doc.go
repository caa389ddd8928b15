// Package policy has the ways to place pods that the replay compares.
//
// It provides a registry from names to constructors, and the baselines of "Beware of
// Fragmentation" (USENIX ATC'23): random, best fit and the paper's own fragmentation
// gradient descent (FGD), written anew from the paper and matched to its published
// numbers. Beside the registry there is NewPooled: ours as it is on a cluster with device
// plugins, which test/integration compares with a real scheduler. It does not apply or check placements; package replay does.
//
// A policy is one file: a constructor that is entered in registry, and a type with
// Place. Invariants: a policy finds a node whenever there is one, changes nothing in the
// cluster, and answers the same for the same seed.
//
// Start reading at registry; for FGD at fragments, then fgd.
package policy
