// Package scheduler is the kube-scheduler plugin that keeps pods off bad devices
// and packs slices.
//
// It provides one plugin, Accelerators, with Filter, Score, Reserve, PreBind,
// SignPod and queueing hints. What it decides comes from package placement; what it
// knows comes from the fleet snapshot and the set of quarantines, both in memory:
// nothing in a scheduling cycle does I/O. It does not choose the device (the kubelet
// does, until device choice is built), hold quota or write prices.
//
// cmd/scheduler registers it with kube-scheduler. Invariants: a pod without
// accelerators is never touched; silence of telemetry never keeps a pod away and
// never forgives a device that Failed; before the first list of quarantines was
// read, no accelerator pod is scheduled.
//
// Start reading at Plugin, then filter.go.
package scheduler
