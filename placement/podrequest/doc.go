// Package podrequest says what a pod asks of a node, as package packing sees it.
//
// It provides Of, by which telemetry counts what is asked for and the scheduler ranks
// nodes: both must see one pod alike, or the mix would not be of what is ranked. It reads
// the pod and nothing else; claims are not among what it counts.
//
// Start reading at Of.
package podrequest
