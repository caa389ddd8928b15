// Package quarantine keeps the set of quarantined devices current in memory.
//
// It provides an immutable set indexed by node, and an informer that publishes each
// new one behind an atomic pointer. It does not create, judge or end quarantines:
// telemetry does.
//
// The scheduler (and later the webhook and the device-plugin proxy) read it.
// Invariants: a published set is never changed; until the first list was read,
// Synced says so and no reader may conclude that nothing is quarantined.
//
// Start reading at Set.
package quarantine
