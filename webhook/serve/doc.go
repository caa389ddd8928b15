// Package serve answers admission requests.
//
// It provides the handlers of the mutating and the validating webhooks over HTTP, for
// pods and for our own ConfigMaps. Every rule lives in package decide; what the rules
// need to know comes through the interfaces here. It reads no flag and starts nothing.
//
// Package app wires it. Invariants: no answer takes longer than the API server waits;
// a dry run takes no room; a request that cannot be judged, also by a fault of ours, is
// refused only on the path for namespaces in mode enforce; a pod without accelerators
// passes untouched.
//
// Start reading at Pods.
package serve
