// Package store keeps QuotaLedgers in the API server.
//
// It provides live reads, writes that replace the whole object at the resource version
// that was read or fail with a conflict, and the latest version of each ledger that this
// process has heard of. It does not decide what a ledger should say.
//
// quota/reserve and quota/reconcile change ledgers through it; the scheduler reads
// Latest. Invariants: a write never overwrites another's change (apierrors.IsConflict
// tells). Latest may lag behind the API server, never behind this process's own writes;
// whoever refuses anything because of it must Get first. What is returned is shared and
// must not be changed.
//
// Start reading at Store.
package store
