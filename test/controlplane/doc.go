// Package controlplane gives a test, a benchmark or the demo a real Kubernetes
// API: Start runs the helper process of package server (etcd, kube-apiserver and
// kube-controller-manager in one) and Cluster hands out what talks to it.
//
// It provides administrator and ServiceAccount credentials, token files, and
// server-side apply of manifests. It does not provide nodes (see simnode) or a
// scheduler (start ours).
//
// Callers are the suites in test/ and cmd/demo. The package itself imports
// nothing of k8s.io/kubernetes, so a test binary that uses it stays small and
// links fast: the API server is a program of its own, compiled once per machine
// and kept in the user's cache directory.
//
// Environment:
//
//	WASTENOT_CACHE             directory for the compiled helper
//	                           (default: "wastenot" in the user's cache directory)
//	WASTENOT_CONTROLPLANE_BIN  a helper that is already compiled; nothing is built
//
// Invariants: a Cluster ends with the context of Start, with Stop, or with the
// process that started it, whichever is first. It listens on loopback only, and
// all its files lie below one directory that Stop removes unless the caller
// named it.
//
// Start reading at Start in cluster.go.
package controlplane
