// Package serve hands the fleet to those who may watch it, over gRPC.
//
// It provides the Watch service (snapshot on connect, then deltas, a heartbeat each
// second) and the check of callers' tokens. It does not know where the fleet comes
// from, nor TLS.
//
// The scheduler and later the webhook and the device-plugin proxy are its clients,
// through internal/fleet. Invariants: no message before the caller's token was
// accepted; a slow client holds up nobody and gets what it missed as one delta.
//
// Start reading at Fleet.Watch.
package serve
