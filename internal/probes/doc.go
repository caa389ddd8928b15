// Package probes serves what a kubelet and Prometheus ask of a process: /livez, /readyz
// and /metrics, in plain HTTP.
//
// It does not decide when a process is ready. Telemetry and the webhook use it.
//
// Start reading at Serve.
package probes
