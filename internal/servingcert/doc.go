// Package servingcert keeps a serving certificate of our own current, for clusters
// without cert-manager.
//
// It provides a CA and a certificate kept in a Secret, the CA's bundle in a
// ConfigMap for clients to mount, and rotation of both with overlap. It does not
// serve anything.
//
// Telemetry and the webhook use it. Invariants: a new CA is published before a
// certificate that it signed is served, and the old one stays in the bundle until it
// expires; two replicas that start together agree on one Secret.
//
// Start reading at Keeper.
package servingcert
