// Package mix learns which requests for accelerators arrive, and says so when that has
// changed.
//
// It provides the policy by which the mix is learnt (ParsePolicy), what a pod counts as
// (podrequest.Of), and a Follower, which counts every pod of the cluster once and hands on
// the mix as the fleet snapshot carries it. It does not publish it, nor rank anything:
// placement/packing has the arithmetic, and schedulers use the result.
//
// Package app wires it. Invariants: a pod counts once for as long as it exists, whoever
// runs it and whether or not it has finished, since what was asked for is what will be;
// pods that are there at the start, and those that arrive together, count in the order of
// their creation, so that two lives that see the same pods learn the same; until something
// has been asked for or is expected, the mix is not known.
//
// A unit of a resource is what the resource hands out: a device, a MIG instance, or one
// replica of a device that is shared. Every item is for whole units (Milli is 1000):
// whoever ranks a shared device models the pool of its replicas as a device that is
// divisible into units.
//
// Start reading at Follower.
package mix
