// Package quarantine turns verdicts into Quarantine objects and back.
//
// It provides a controller: a device that Failed gets a quarantine, one that
// recovered loses it, and the object's status holds the evidence, from which a new
// process starts. It does not judge devices, and it never touches a quarantine that
// somebody else created.
//
// cmd/telemetry runs it. Invariants: a quarantine ends only because the device is
// graded otherwise by fresh readings, or by an operator; a device that has vanished
// keeps it. A release is never undone. A deleted object comes back as long as the
// device is read and Failed; once the device is no longer read, deleting clears it.
//
// Start reading at Controller.reconcile.
package quarantine
