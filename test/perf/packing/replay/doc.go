// Package replay lets pods arrive at a cluster one by one and lets a policy place them.
//
// It provides the cluster that a policy reads, the loop that asks it, and the record of
// what it answered. Pods only arrive: none leaves, and one that does not fit is not tried
// again. It knows no policy and does not judge how well one packs.
//
// No answer is trusted. The loop keeps a cluster of its own, which the policy cannot
// reach, checks each placement against it (CPU, memory, model, number and free part of
// the devices), and after "does not fit" looks at every node itself: a pod that fits
// somewhere is placed, or the run fails. So the allocation that a run reports can be
// added up from its rows alone.
//
// It is called by the command and its tests. Start reading at Policy and Run.
package replay
