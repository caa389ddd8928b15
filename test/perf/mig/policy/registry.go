package policy

import (
	"fmt"
	"slices"
	"strings"

	"wastenot.dev/test/perf/mig/replay"
)

// registry has every policy in the order of the table.
var registry = []struct {
	name      string
	construct replay.Constructor
}{
	{"firstfit", newFirstFit},
	{"firstfit-last", newFirstFitLast},
	{"dra", newDRA},
	{"bestfit", newBestFit},
	// Ours.
	{"wastenot", newWastenot},
}

// Names returns the names of all policies in the order of the table.
func Names() []string {
	names := make([]string, len(registry))
	for i := range registry {
		names[i] = registry[i].name
	}
	return names
}

// New returns the constructor of the named policy; the error of an unknown name lists
// the known ones.
func New(name string) (replay.Constructor, error) {
	i := slices.Index(Names(), name)
	if i < 0 {
		return nil, fmt.Errorf("unknown policy %q: use one of %s", name, strings.Join(Names(), ", "))
	}
	return registry[i].construct, nil
}
