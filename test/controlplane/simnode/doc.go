// Package simnode simulates nodes at the level of the Kubernetes API. A Fleet
// plays the kubelet of each of its nodes honestly, so that what a test claims
// about devices can be counted from ids that nobody on our side chose.
//
// It provides the Node object with its heartbeat; admission of bound pods by the
// kubelet's rules (devices, then CPU, memory and pod count); the choice of
// devices, uniformly at random among the free healthy ids unless the test brings
// a preference such as Ranked, as with a device plugin that has none; pod status with
// allocatedResourcesStatus; the end of pods, on time (annotation RunFor) or by
// deletion; and device health that changes while pods run.
//
// It does not run containers: they are ready at once and never crash. It checks
// no node affinity or taints, mounts nothing and prepares no ResourceClaims; DRA
// drivers and exec need the real kubelet of test/e2e. Like the real kubelet it
// publishes ids of app containers only, never those of init containers and
// sidecars. API servers below 1.36 drop the ids from the status; for those, and
// for any check, Fleet.Assignments is the nodes' own record.
//
// Callers are the suites in test/, benchmarks and cmd/demo.
//
// Invariants: an id has one holding pod at most; an unhealthy id is never given
// out; an id is free again before its pod is gone from the API; a pod is decided
// on in the order of the watch, so equal input and seed give equal ids.
//
// Start reading at inventory.plan in admit.go (pure) and Fleet.observe in
// observe.go (the state machine); the rest is plumbing.
package simnode
