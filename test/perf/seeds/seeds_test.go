package seeds

import (
	"slices"
	"testing"
)

func TestParse(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text string
		want []uint64
	}{
		"a range":       {"42:44", []uint64{42, 43, 44}},
		"one":           {"7", []uint64{7}},
		"the same":      {"7:7", []uint64{7}},
		"backwards":     {"44:42", nil},
		"too many":      {"0:1000", nil},
		"half a range":  {"42:", nil},
		"no number":     {"x", nil},
		"below nothing": {"-1:2", nil},
		"nothing":       {"", nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Parse(tt.text)
			if (err == nil) != (tt.want != nil) || !slices.Equal(got, tt.want) {
				t.Errorf("got %v, %v, want %v", got, err, tt.want)
			}
		})
	}
}
