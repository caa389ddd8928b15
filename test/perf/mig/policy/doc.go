// Package policy has the ways to place MIG instances that the replay compares.
//
// It provides a registry from names to constructors, and the baselines: first fit in both
// orders of starts, best fit, and what a stock scheduler does with the devices that
// NVIDIA's DRA driver lists. It does not check placements; package replay does.
//
// A policy is one file: a constructor that is entered in registry, and a type with Place
// and Changed. Invariants: a policy finds a place whenever there is one, changes nothing in
// the fleet, and answers the same for the same seed.
//
// Start reading at registry.
package policy
