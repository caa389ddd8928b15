// Package seeds reads which seeds the replays run, from their flag -seeds. It does nothing
// else; every replay in test/perf calls it.
package seeds
