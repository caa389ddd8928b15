// Package app wires the webhook: informers and live configuration into the admission
// handlers, the quota ledgers beside them, and our own entries in the API server's
// webhook configurations.
//
// It provides the flags and Run. Every rule lives in the packages that it wires.
//
// cmd/webhook calls it. Invariants: everything is validated before the first side
// effect; the webhook is not ready while the certificate that it serves is known to be one
// that the API server does not trust; whoever loses the lead goes on answering; requests that have
// arrived are answered before the process ends; every goroutine ends before Run returns.
//
// Start reading at Run.
package app
