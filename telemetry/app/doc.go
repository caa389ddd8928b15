// Package app wires the telemetry service: sources and the mix of requests into the
// store, the store into the gRPC service, the quarantine controller and the metrics.
//
// It provides the flags and Run. Every rule lives in the packages that it wires.
//
// cmd/telemetry calls it. Invariants: everything is validated before the first side
// effect; quarantines are read before the first reading is, so that no fault is
// forgiven by a restart; every goroutine ends before Run returns.
//
// Start reading at Run.
package app
