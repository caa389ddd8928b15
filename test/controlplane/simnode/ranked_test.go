package simnode

import (
	"slices"
	"testing"
)

func TestRanked(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ available, want []string }{
		"whole devices in the node's order": {[]string{"b", "a", "c"}, []string{"b", "a", "c"}},
		"the device that is used most":      {[]string{"a::0", "a::1", "b::0", "b::1", "c::1"}, []string{"c::1", "a::0", "a::1", "b::0", "b::1"}},
		"one device after the other":        {[]string{"a::0", "b::0", "a::1", "b::1"}, []string{"a::0", "a::1", "b::0", "b::1"}},
		"nothing":                           {nil, nil},
	} {
		if got := Ranked(PreferenceRequest{Available: test.available}); !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}
