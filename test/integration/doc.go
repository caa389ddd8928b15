// Package integration holds the tests that run the whole product on a real control
// plane, at the native version and emulating the oldest that is supported. It has no
// code of its own; build tag integration.
//
// Start reading at TestMain in main_test.go.
package integration
