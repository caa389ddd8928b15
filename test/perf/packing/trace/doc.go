// Package trace reads the nodes and pods of a packing experiment and tunes the pods to a
// demand.
//
// The format is that of the openb trace (alibaba/clusterdata, cluster-trace-gpu-v2023):
// one CSV of nodes and one of pods per workload. It does not place anything and does not
// look at times: the experiment knows the order of arrivals only.
//
// It is called by the replay, its policies and the command. Invariants: what was read is
// valid (a pod asks for no device, for a part of one, or for whole ones), an unknown
// column is ignored, a missing one is an error, and Tune with the same arguments returns
// the same arrivals.
//
// Start reading at Pod, then Tune.
package trace
