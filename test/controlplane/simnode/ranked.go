package simnode

import (
	"cmp"
	"slices"
	"strings"
)

// Ranked is a Preference that packs: it takes the device of which least is left, of equal
// ones the one that the node names first. Replicas belong to one device when their ids
// ("GPU-<uuid>::0") are equal up to the colons; all devices of a resource must have as
// many on a node. Whole devices are therefore taken in the node's order.
func Ranked(request PreferenceRequest) []string {
	left, first := map[string]int{}, map[string]int{}
	for i, id := range request.Available {
		device := deviceOf(id)
		if left[device] == 0 {
			first[device] = i
		}
		left[device]++
	}
	ids := slices.Clone(request.Available)
	slices.SortStableFunc(ids, func(a, b string) int {
		a, b = deviceOf(a), deviceOf(b)
		return cmp.Or(cmp.Compare(left[a], left[b]), cmp.Compare(first[a], first[b]))
	})
	return ids
}

// deviceOf cuts off which replica of a device it is.
func deviceOf(id string) string {
	device, _, _ := strings.Cut(id, "::")
	return device
}
