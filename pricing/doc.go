// Package pricing knows what an hour of any accelerator costs: of a device of a node, of
// a part of it, and of all that a pod asks for.
//
// It provides the price book: rules that people write in prices.yaml, over a built-in
// list of public on-demand prices (data/prices.csv, each row with its source and date).
// An instance is priced and then split by its devices, because the price of one product
// differs by up to eight times with the instance around it. It does not know which nodes
// a pod may land on, what was used, discounts, spot prices, or what a bill will say.
//
// The webhook estimates a range over candidate nodes with it, the scheduler prices the
// node it chose, and telemetry prices what was held.
//
// Invariants:
//   - Amounts are integer micro-units of the book's currency per hour. Prices are exact
//     fractions until they are rounded, half up, once.
//   - What is not known is unknown, never 0 and never a guess. Arithmetic that would
//     overflow is unknown too; nothing is negative.
//   - The parts of a device cost at most half a micro-unit each more or less than their
//     exact share of it.
//   - It is pure: no clock, no I/O but the embedded list, and a Book never changes, so
//     that any number of goroutines can share one.
//
// Start reading at Book.Hourly.
package pricing
