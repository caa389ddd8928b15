// Package perf measures what the scheduler plugin costs in a scheduling cycle, beside
// a stock plugin over the same nodes.
//
// It holds benchmarks only, for people: `make bench`. They print, they do not judge;
// what must not regress without anyone looking (that nothing is allocated on a clean
// node) is asserted by unit tests of placement and scheduler.
//
// Start reading at BenchmarkFilterAndScore.
package perf
