// Package idle tells what a device or partition is doing from its readings.
//
// It provides votes (what each reading says), and a Tracker that turns votes over a
// window into an activity. It is pure: time comes with the readings. It does not
// know workload kinds, prices or what to do about idleness.
//
// Invariants: idle is agreement of two signals that come from different subsystems
// and different measuring modules, over the whole window; one busy vote makes it
// Busy at once; whatever is missing is Unknown. Under MIG neither utilisation, power
// nor clocks are used.
//
// Start reading at Vote.
package idle
