package sample

import (
	"math"
	"strconv"
)

// Value is one reading that may be unknown. The zero Value is Unknown.
type Value struct {
	number float64
	known  bool
}

// Unknown is the reading that nobody made.
var Unknown = Value{}

// Known wraps a number that a source really reported. NaN and infinities are
// Unknown: they are how exporters spell a missing value.
func Known(number float64) Value {
	if math.IsNaN(number) || math.IsInf(number, 0) {
		return Unknown
	}
	return Value{number: number, known: true}
}

// Get returns the number and whether it is known.
func (v Value) Get() (float64, bool) { return v.number, v.known }

// IsKnown tells whether the source reported a number.
func (v Value) IsKnown() bool { return v.known }

// Is tells whether the value is known and equal to number.
func (v Value) Is(number float64) bool { return v.known && v.number == number }

// String prints the number, or "unknown".
func (v Value) String() string {
	if !v.known {
		return "unknown"
	}
	return strconv.FormatFloat(v.number, 'g', -1, 64)
}
