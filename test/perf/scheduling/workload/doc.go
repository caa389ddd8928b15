// Package workload lists what the throughput of scheduling is measured with.
//
// It provides each workload's name and sizes, and the operations of upstream's
// scheduler_perf that make it. It runs nothing and measures nothing.
//
// The command chooses from it by name; the benchmark in package bench plays what was
// chosen. Invariant: everything but the scheduler's configuration is the same on both
// sides of a comparison.
//
// Start reading at Workload, then catalogue.go.
package workload
