// Package dcgm reads NVIDIA dcgm-exporter endpoints and turns each answer into
// one sample.Batch: every physical GPU once, its MIG instances under it, and who
// holds what as far as the labels say.
//
// It works with the exporter's default settings and with every capture in
// testdata/corpus. It does not grade health, decide idleness, keep history or
// watch Kubernetes: its caller hands it pods or URLs, and a Sink takes the
// batches. The telemetry service is the caller.
//
// Invariants:
//
//   - A value that the exporter did not really report is sample.Unknown, never 0
//     (blank.go, fields.go).
//   - Copied values are one value: instances, holders and repeated scrapes never
//     add up (unify.go).
//   - A broken line costs that line. What was lost is a sample.Problem, and the
//     number of problems is bounded (exposition.go).
//   - Nothing an endpoint sends makes a pass panic, grow without bound, or delay
//     another endpoint (scrape.go, loop.go).
//
// One exposition cannot tell a GPU with MIG on and no instance from a GPU that is
// not MIG: the labels are the same, and FB and GPU_UTIL can be missing for other
// reasons. Such a device has MIG false and those fields unknown; the device list
// of the node is what shows that it has nothing to allocate.
//
// Start reading at Read in unify.go, then Scraper, then Runner.
package dcgm
