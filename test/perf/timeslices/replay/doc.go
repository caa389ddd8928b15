// Package replay lets pods arrive at time-sliced GPUs and lets a policy place them.
//
// A pod is accepted or rejected when it arrives and never moved. No answer is trusted: the
// loop counts replicas itself, and a pod that is rejected while a replica is free fails
// the run. It measures how long busy pods share their GPU with another busy pod.
//
// The command calls it. Start reading at Policy and Run.
package replay
