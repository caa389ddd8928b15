package load

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// mixes are how often profiles are asked for, the smallest first, for GPUs with six
// profiles and with three. The names are those of arXiv 2511.18906; its probabilities
// could not be read, so these are ours: uniform as the word says, the others such that
// the profiles favoured make up half of the requests or more.
var mixes = map[string]map[int][]float64{
	"uniform":   {6: {1, 1, 1, 1, 1, 1}, 3: {1, 1, 1}},
	"skewsmall": {6: {30, 25, 20, 10, 10, 5}, 3: {60, 30, 10}},
	"skewbig":   {6: {5, 10, 10, 20, 25, 30}, 3: {10, 30, 60}},
	"bimodal":   {6: {30, 15, 5, 5, 15, 30}, 3: {45, 10, 45}},
}

// Mixes returns the names of all mixes, sorted.
func Mixes() []string { return slices.Sorted(maps.Keys(mixes)) }

// Mix returns how often each of so many profiles is asked for, in parts of one. The error
// of an unknown name lists the known ones.
func Mix(name string, profiles int) ([]float64, error) {
	weights, ok := mixes[name][profiles]
	if !ok {
		return nil, fmt.Errorf("unknown mix %q of %d profiles: use one of %s", name, profiles, strings.Join(Mixes(), ", "))
	}
	sum := 0.0
	for _, weight := range weights {
		sum += weight
	}
	shares := make([]float64, len(weights))
	for i, weight := range weights {
		shares[i] = weight / sum
	}
	return shares, nil
}
