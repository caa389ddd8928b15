package quota

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"wastenot.dev/api/v1alpha1"
)

// DevicesClass is the Class of a Shortage of devices over all classes.
const DevicesClass = "devices"

// Shortage is one limit that does not let a pod in.
type Shortage struct {
	// Class is the class that is short, or DevicesClass.
	Class string
	// Want, Held and Limit are what the pod wants, what the team uses without it and
	// what the team may use: in units, or for DevicesClass in millionths of a device.
	Want, Held, Limit int64
	// Reserved is how much of Held is reserved only: admitted and not counted yet.
	// Judge cannot know it; Admit and Check can.
	Reserved int64
}

// String says it in a sentence, such as "wants 2 nvidia.com/gpu, team holds 7 of 8".
func (s Shortage) String() string {
	amount, noun := func(n int64) string { return strconv.FormatInt(n, 10) }, s.Class
	if s.Class == DevicesClass {
		amount = decimal
		if s.Want == wholeDevice {
			noun = "device"
		}
	}
	text := fmt.Sprintf("wants %s %s, team holds %s of %s", amount(s.Want), noun, amount(s.Held), amount(s.Limit))
	if s.Reserved > 0 {
		text += fmt.Sprintf(", %s of them for pods that are still being created", amount(s.Reserved))
	}
	return text
}

// Judge returns the limits that keep a team that uses used from getting want too, in
// units by class; nothing when it fits. A class that is not listed is bounded by devices
// alone, and where those are not limited the team may hold none. What is not wanted is
// never short, even where the team holds too much of it.
func Judge(spec *v1alpha1.QuotaLedgerSpec, used, want map[string]int64) []Shortage {
	var shortages []Shortage
	wanted := Devices(want, spec.Classes)
	if spec.Limits.Devices != nil && wanted > 0 {
		limit, _ := microsOf(*spec.Limits.Devices)
		held := Devices(used, spec.Classes)
		if !fits(held, wanted, limit) {
			shortages = append(shortages, Shortage{Class: DevicesClass, Want: wanted, Held: held, Limit: limit})
		}
	}
	for _, class := range slices.Sorted(maps.Keys(want)) {
		limit, listed := spec.Limits.Classes[class]
		if want[class] <= 0 || (!listed && spec.Limits.Devices != nil) {
			continue
		}
		if held := max(used[class], 0); !fits(held, want[class], limit) {
			shortages = append(shortages, Shortage{Class: class, Want: want[class], Held: held, Limit: limit})
		}
	}
	return shortages
}

// fits tells whether held and want together are within the limit, without adding them.
func fits(held, want, limit int64) bool { return want <= limit && held <= limit-want }
