// Package packing decides where a request leaves the most room for the requests to come:
// on which node, on which device and at which place of a device that is partitioned.
//
// It provides one value for everything: what a node would still take of the requests that
// will probably arrive (Forecast). The price of a placement is the value that it takes
// away. Whole devices, fractions, time slices, MIG instances with their legal places and
// the counters of DRA are all devices with a Layout, so one rule compares them. Mix says
// what arrives; Learner learns it from what has arrived. Index keeps every node's price
// for the requests that are asked for and follows changes one by one, so that a decision
// costs what changed and not the fleet.
//
// It is pure: no clock, no I/O, no randomness but a fixed sequence, no cluster objects.
// It does not know health: a device that must not be used is left out of its node, and
// tiers come from the caller. Package scheduler, the replays in test/perf and telemetry
// (for Mix) call it.
//
// Invariants: a request that fits some node is placed; equal input gives equal output, to
// the last tie; values are whole numbers.
//
// Start reading at Forecast.Value, then Index.Best. docs/design/0004-packing.md has the
// reasons and the alternatives that were measured.
package packing
