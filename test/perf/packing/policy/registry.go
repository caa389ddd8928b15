package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"wastenot.dev/test/perf/packing/replay"
)

// registry has every policy by the name that people and the published results use.
var registry = map[string]replay.Constructor{
	"random":  newRandom,
	"bestfit": newBestFit,
	"fgd":     newFGD,
	// Ours.
	"wastenot": newWastenot,
}

// Names returns the names of all policies, sorted.
func Names() []string { return slices.Sorted(maps.Keys(registry)) }

// New returns the constructor of the named policy; the error of an unknown name lists
// the known ones.
func New(name string) (replay.Constructor, error) {
	construct, ok := registry[name]
	if !ok {
		return nil, fmt.Errorf("unknown policy %q: use one of %s", name, strings.Join(Names(), ", "))
	}
	return construct, nil
}
