// Package health turns readings into a grade for each device.
//
// It provides the policy (the XID table and thresholds, as data that users
// override) and a Tracker per device that remembers what still counts against it.
// It is pure: time comes with the readings. It does not read sources, write
// quarantines or know about pods; spread of a fault over devices and workloads is
// not judged yet.
//
// Invariants: evidence ends by evidence, never by silence. A reading that is
// unknown neither starts nor ends a finding and interrupts probation. A device is
// Healthy only when a reading says so.
//
// Start reading at Tracker.Observe.
package health
