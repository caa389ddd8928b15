package sample

import (
	"math"
	"testing"
)

func TestTheZeroValueIsUnknown(t *testing.T) {
	var zero Value
	if zero.IsKnown() || zero.Is(0) || zero != Unknown {
		t.Errorf("the zero Value reads as known: %v", zero)
	}
	var fields Fields
	for field, value := range fields {
		if value.IsKnown() {
			t.Errorf("%s of the zero Fields is known", Field(field))
		}
	}
}

func TestKnownRefusesWhatIsNoNumber(t *testing.T) {
	for _, number := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if got := Known(number); got.IsKnown() {
			t.Errorf("Known(%v) is known", number)
		}
	}
	if got := Known(0); !got.Is(0) {
		t.Errorf("Known(0) = %v, want a known 0", got)
	}
}

func TestEveryFieldHasAName(t *testing.T) {
	seen := map[string]Field{}
	for field := range fieldCount {
		name := field.String()
		if name == "" || name == "invalid field" {
			t.Errorf("field %d has no name", int(field))
		}
		if other, taken := seen[name]; taken {
			t.Errorf("fields %d and %d are both named %q", int(other), int(field), name)
		}
		seen[name] = field
	}
	for _, field := range []Field{-1, fieldCount} {
		if got := field.String(); got != "invalid field" {
			t.Errorf("Field(%d).String() = %q, want %q", int(field), got, "invalid field")
		}
	}
}
