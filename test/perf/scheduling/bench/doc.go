// Package bench plays one workload once against one scheduler profile, in upstream's
// scheduler_perf: etcd, kube-apiserver and kube-scheduler as they are.
//
// It provides one benchmark, behind the build tag perf because it links all of
// Kubernetes: BenchmarkPerfScheduling, with flags that say which workload and which
// profile. It does not compare; the command in the folder above alternates profiles and
// does.
//
// Invariants: our profile is read from manifests/base and has every plugin that it ships
// with; both profiles meet the same objects, the custom ones included; before the first
// pod is made, our plugin knows the fleet.
//
// Start reading at BenchmarkPerfScheduling.
package bench
