// Package sample holds what one source said about one node in one pass: the
// common form that every source is brought into and that health, idleness and
// the store read.
//
// It provides data types and the rules for telling a value from an unknown. It
// does not fetch, parse, grade or keep anything.
//
// Invariants: the zero Value is Unknown, so a field that nobody set can never be
// taken for 0; a Batch carries the time at which its readings were observed; a
// device appears once in a batch however many series repeated it.
//
// Start reading at Batch.
package sample
