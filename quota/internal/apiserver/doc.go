// Package apiserver is an API server of ledgers for tests.
//
// It provides a fake dynamic client that gives objects versions and identities, and
// refuses writes and deletes of another version, as a real one does and client-go's fake
// does not. It does not validate what it stores.
//
// The tests of quota/store and quota/reconcile use it. Invariant: one write at a time,
// each with a version that no other has.
//
// Start reading at New.
package apiserver
