// Package fleet is the working form of what telemetry knows: an immutable snapshot of
// every node's devices and of what pods ask for, and the client that keeps one current.
//
// It provides the snapshot types, their conversion to and from the wire, and a
// Watch client that publishes each new snapshot behind an atomic pointer. It does
// not grade, rank or decide anything.
//
// Telemetry builds snapshots; the scheduler, the webhook and the device-plugin
// proxy read them. Invariants: a published snapshot and all it points to is never
// changed; readers take no lock and do no I/O; a client that lost telemetry keeps
// its last snapshot and says how old it is.
//
// Start reading at Snapshot, then Client.
package fleet
