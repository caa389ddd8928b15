// Package candidate finds where a new pod could run, as far as its price depends on it.
//
// It provides one option per kind of node that the pod can land on, with what it would
// take there. It reads a snapshot of nodes and device slices; claims it looks up in what
// it is given. It knows no price, and it is not the scheduler: what is free at the moment does not
// matter, and of what a pod demands only node selectors, node affinity, taints and
// accelerators count.
//
// Package serve calls it. Invariants: nodes that a price cannot tell apart are one
// option; every allocation that the scheduler can make costs as much as an option, or
// lies between two on one node; work is bounded whatever the pod asks for; what cannot
// be found out is left out, and whoever asks is told that something may be missing.
//
// Start reading at Finder.Options.
package candidate
