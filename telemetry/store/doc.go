// Package store keeps what all sources said, has it graded, and publishes the fleet
// snapshot.
//
// It provides the one place where readings of a device meet: batches go in, an
// immutable fleet.Snapshot with a generation comes out, and whoever waits is told. It
// carries the mix that others learnt. It does not fetch readings, serve them or act on
// them.
//
// Sources call Accept; the clock loop calls Tick; servers and controllers read
// Snapshot and wait on Changed. Invariants: a published snapshot never changes and
// shares unchanged nodes, and an unchanged mix, with the one before, so that a reader
// finds what differs by comparing pointers; generations grow by one with every change; a
// device whose readings are too old is Unknown but stays; a device is on one node only;
// only nodes that Kubernetes has, and that have devices, are published.
//
// Start reading at Store.Accept.
package store
