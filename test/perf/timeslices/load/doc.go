// Package load makes pods that share GPUs by time slices: when each comes and leaves, and
// when in between it is busy.
//
// It is pure: the same seed gives the same pods, whatever policy serves them. Phases are
// the pod's own; a policy sees only whether it is busy now.
//
// The command calls it. Start reading at Pods.
package load
