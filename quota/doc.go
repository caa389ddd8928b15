// Package quota is the ledger of a team: what it may hold, what it holds, and whether
// one more pod fits.
//
// It provides the configuration (Parse), the arithmetic (Weight, Devices, Judge) and
// the ledger's state machine (Configure, Admit, Check, Reconcile). It has no clock, no
// I/O and no client, and it never changes what it is given: store keeps ledgers,
// reserve is admission's side of them, reconcile counts the pods.
//
// The webhook and the scheduler call it, so that both judge alike. Invariants:
//
//   - What a team uses is what was committed plus what is reserved. Admission only adds
//     reservations. Only a count takes one away: because it saw the pod, or because the
//     request that made it cannot be alive.
//   - A count reads the ledger, then lists the pods, then writes over the ledger that it
//     read or not at all. Any other order loses a pod: model_test.go finds how.
//   - What is not known counts as the most that it can be, and as a whole device where
//     nothing is known. Shares are rounded down, so that seven sevenths fit into one.
//   - Arithmetic saturates: no count, however hostile, makes a sum small.
//
// Start reading at Admit, then Reconcile.
package quota
