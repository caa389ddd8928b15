// Package replay lets requests for MIG instances arrive and leave, and lets a policy
// place them.
//
// A request is accepted or rejected when it arrives; it is never queued and never moved.
// No answer is trusted: the loop keeps a fleet of its own, which the policy cannot reach,
// makes every placement on it, and after "does not fit" looks at every place itself: a
// request that fits somewhere is accepted, or the run fails.
//
// The command calls it. Start reading at Policy and Run; Pool is what no policy can be.
package replay
