package packing

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Ranked is one place on a node for one unit of a request, and why it stands where it
// does.
type Ranked struct {
	Take
	Cost

	// Why says in words what the place leaves of the node and what speaks against it.
	Why string
}

// Rank returns the places on the node for one unit of the request, the best first: one for
// each device that could serve it, at its best place. Of equal ones the device with less
// to spare comes first, and then the first on the node. It is what Choose picks from.
func (f *Forecast) Rank(n *Node, r *Request) []Ranked {
	if !n.has(r) {
		return nil
	}
	before := f.Value(n)
	after := Node{Product: n.Product, CPUMilli: n.CPUMilli - r.CPUMilli, MemoryMiB: n.MemoryMiB - r.MemoryMiB, Devices: slices.Clone(n.Devices)}
	var ranked []Ranked
	for i := range n.Devices {
		if best, ok := f.bestPlace(&after, i, r, before); ok {
			ranked = append(ranked, best)
		}
	}
	slices.SortStableFunc(ranked, func(a, b Ranked) int {
		switch {
		case a.less(b.Cost):
			return -1
		case b.less(a.Cost):
			return 1
		}
		return cmp.Compare(n.Devices[a.Device].Free, n.Devices[b.Device].Free)
	})
	return ranked
}

// bestPlace is the best place on the device for one unit.
func (f *Forecast) bestPlace(n *Node, device int, r *Request, before int64) (Ranked, bool) {
	d := &n.Devices[device]
	var best Ranked
	found := false
	f.listPlaces(n, device, r)
	for _, o := range slices.Clone(f.options) {
		was := d.Free
		d.Free = o.free
		value := f.Value(n)
		d.Free = was
		o.cost.Price += before - value
		if !found || o.cost.less(best.Cost) {
			best, found = Ranked{Take: o.take, Cost: o.cost, Why: why(d, o.take, before, value)}, true
		}
	}
	return best, found
}

// why puts a price into words.
func why(d *Device, take Take, before, after int64) string {
	parts := []string{fmt.Sprintf("leaves %s of %s devices for what is asked for lately", devices(after), devices(before))}
	if take.Part >= 0 {
		parts = append(parts, "at "+d.Layout.parts[take.Part].Name)
	}
	if d.Busy > 0 {
		parts = append(parts, fmt.Sprintf("others work on it, which counts as %s devices", devices(int64(d.Busy)*Scale)))
	}
	if d.Tier > 0 {
		parts = append(parts, fmt.Sprintf("tier %d", d.Tier))
	}
	return strings.Join(parts, "; ")
}

// devices spells a value in devices.
func devices(value int64) string {
	return fmt.Sprintf("%.2f", float64(value)/Scale/Whole)
}
