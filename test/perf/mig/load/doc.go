// Package load makes requests for MIG instances that arrive and leave.
//
// It provides mixes (how often each profile is asked for) and a stream of arrivals:
// Poisson arrivals, exponential lifetimes with a mean of one unit of time. It is pure: the
// same seed gives the same stream, whatever policy serves it. It knows no GPUs but their
// geometry.
//
// The command calls it. Start reading at Arrivals.
package load
