// Package reserve is admission's side of the ledgers: it reserves quota for a pod that is
// being created, or says why not.
//
// It provides a Desk. It does not decide what a refusal leads to, nor which team a pod
// is of, and it does not count pods: a Counter does.
//
// The webhook calls it, in every replica. Invariants: a pod is let in only after its
// reservation was stored by compare-and-swap, or was found stored; nothing is refused
// before the ledger was read from the API server and the pods were counted once more, or
// could not be. One goroutine at a time has a team's line, and one write serves all who
// stand in it. The goroutines are the callers' own; none is started, and no lock is held
// over I/O.
//
// Start reading at Desk.Reserve, then Desk.decide.
package reserve
