// Command server is one process that holds a whole Kubernetes control plane:
// an embedded etcd, kube-apiserver and kube-controller-manager. Integration
// tests, benchmarks and the demo run it through package controlplane; nobody is
// meant to start it by hand, although `go run ./test/controlplane/server` works.
//
// It provides a real API server (TLS, RBAC and Node authorization, admission
// including ServiceAccount, token issuing) on loopback and the controllers that
// a scheduling test leans on. It does not run a scheduler, because ours is the
// thing under test, and it runs no kubelet: see package simnode for nodes.
//
// Invariants:
//
//   - Everything listens on loopback or on a unix socket below --dir.
//   - It ends when its standard input ends, so a test binary that is killed
//     leaves no orphan behind; SIGTERM and SIGINT end it too.
//   - Exactly one line goes to standard output, a JSON object (type ready), and
//     only once the API server is ready and the controllers have proved that
//     they run. All logs go to standard error.
//
// Start reading at run in main.go.
package main
