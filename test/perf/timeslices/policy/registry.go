package policy

import (
	"fmt"
	"strconv"
	"strings"

	"wastenot.dev/test/perf/timeslices/replay"
)

// ours is how our policy's name begins; the price of a busy co-tenant, in thousandths of
// a device, follows.
const ours = "wastenot-"

// Names returns the policies of the table: ours at several prices.
func Names() []string {
	return []string{"spread", "pack", ours + "0", ours + "5", ours + "20", ours + "100", ours + "500"}
}

// New returns the constructor of the named policy; the error of an unknown name says
// which there are.
func New(name string) (replay.Constructor, error) {
	switch name {
	case "spread":
		return newSpread, nil
	case "pack":
		return newPack, nil
	}
	if text, ok := strings.CutPrefix(name, ours); ok {
		if price, err := strconv.Atoi(text); err == nil && price >= 0 && price <= 10_000 {
			return newWastenot(price), nil
		}
	}
	return nil, fmt.Errorf("unknown policy %q: use spread, pack or %sN with the price N of a busy co-tenant in thousandths of a device, up to 10000", name, ours)
}
