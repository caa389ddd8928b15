// Package fleet is GPUs that are partitioned by MIG, with the rules of the hardware.
//
// It provides the geometries (which instances there are and where they may start) and a
// fleet that takes and returns instances. It is the judge of every placement, so it holds
// tables of its own and knows nothing of package packing, which is judged. It decides
// nothing.
//
// Invariant: no memory slice of a GPU has two instances, and no GPU gives more compute
// slices than it has. Placing anything else is an error and changes nothing.
//
// Policies and package replay call it. Start reading at Geometry, then Fleet.Place.
package fleet
