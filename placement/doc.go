// Package placement judges devices for a request: which must not get it, which
// should get it first, and what that makes of the node.
//
// It provides the one ranking that node scores, device choice and explanations
// share. It is pure: no clock, no I/O, no cluster objects. It does not know where
// its facts come from or what happens with its answers.
//
// Invariants: a device that is quarantined or Failed is never fit, unless an
// operator released it; Unknown never ranks above Healthy and never makes a device
// unfit; a node is closed unless every unfit device is proven to be out of the
// kubelet's reach (strict mode, docs/design/0002-strict-mode.md).
//
// Start reading at View and Check.
package placement
