package packing

import "slices"

// openingCost is what is added to the price where a request would be the first on a node,
// in thousandths of a device: of nodes that are as good, an opened one is taken.
const openingCost = 10

// Take is one unit of a request on one device.
type Take struct {
	// Device is the index in Node.Devices.
	Device int
	// Part is the index in Layout.Parts, -1 for a divisible device.
	Part int
}

// Cost is what it costs to place a request somewhere.
type Cost struct {
	// Tier is that of the worst device it gets. A lower tier is better at any price.
	Tier int8
	// Price is the value that the node loses, as a sum over all sequences (Mean divides).
	// Lower is better. What the request itself takes is in it.
	Price int64
}

// less orders costs, the better first.
func (c Cost) less(other Cost) bool {
	if c.Tier != other.Tier {
		return c.Tier < other.Tier
	}
	return c.Price < other.Price
}

// Choose returns the best place on the node for the request, one Take for each unit, and
// what it costs; false when it does not fit. Units are chosen one after the other.
func (f *Forecast) Choose(n *Node, r *Request) ([]Take, Cost, bool) {
	if !n.Fits(r) {
		return nil, Cost{}, false
	}
	takes := make([]Take, 0, max(r.Count, 0))
	cost, ok := f.choose(n, r, f.Value(n), &takes)
	return takes, cost, ok
}

// choose is Choose for a node whose value is known and for a request of which the node
// may have too little CPU or memory; takes may be nil.
func (f *Forecast) choose(n *Node, r *Request, before int64, takes *[]Take) (Cost, bool) {
	f.devices = append(f.devices[:0], n.Devices...)
	after := Node{Product: n.Product, CPUMilli: max(n.CPUMilli-r.CPUMilli, 0), MemoryMiB: max(n.MemoryMiB-r.MemoryMiB, 0), Devices: f.devices}
	var cost Cost
	if r.Kind != "" {
		for range r.Count {
			if !f.chooseUnit(&after, r, &cost, takes) {
				return Cost{}, false
			}
		}
		if n.untouched() {
			cost.Price += openingCost * sequences
		}
	}
	cost.Price += before - f.Value(&after)
	return cost, true
}

// option is one place for a unit.
type option struct {
	take Take
	free uint64
	cost Cost
}

// chooseUnit takes the best place for one more unit from the node and adds what it costs
// beside the value that is lost.
func (f *Forecast) chooseUnit(n *Node, r *Request, cost *Cost, takes *[]Take) bool {
	f.listOptions(n, r)
	if len(f.options) == 0 {
		return false
	}
	best := &f.options[0]
	if len(f.options) > 1 {
		for i := range f.options {
			o := &f.options[i]
			d := &n.Devices[o.take.Device]
			was := d.Free
			d.Free = o.free
			o.cost.Price -= f.Value(n)
			d.Free = was
			// Of equal ones, the device that has less to spare.
			if o.cost.less(best.cost) || (o.cost == best.cost && o.free < best.free) {
				best = o
			}
		}
	}
	d := &n.Devices[best.take.Device]
	d.Free = best.free
	cost.Tier = max(cost.Tier, d.Tier)
	cost.Price += int64(d.Busy) * sequences
	if takes != nil {
		*takes = append(*takes, best.take)
	}
	return true
}

// listOptions lists the places for one unit, one of those that are alike.
func (f *Forecast) listOptions(n *Node, r *Request) {
	f.options = f.options[:0]
	for i := range n.Devices {
		if !slices.Contains(n.Devices[:i], n.Devices[i]) {
			f.addPlaces(n, i, r)
		}
	}
}

// listPlaces lists the places for one unit on one device.
func (f *Forecast) listPlaces(n *Node, device int, r *Request) {
	f.options = f.options[:0]
	f.addPlaces(n, device, r)
}

func (f *Forecast) addPlaces(n *Node, device int, r *Request) {
	d := &n.Devices[device]
	cost := Cost{Tier: d.Tier, Price: int64(d.Busy) * sequences}
	if d.Layout.parts == nil {
		if unit := uint64(max(r.Milli, 0)); d.Layout.kind == r.Kind && d.Free >= unit {
			f.options = append(f.options, option{Take{device, -1}, d.Free - unit, cost})
		}
		return
	}
	for part := range d.Layout.parts {
		if d.Layout.parts[part].Kind != r.Kind {
			continue
		}
		if free, ok := d.Layout.Take(d.Free, part); ok {
			f.options = append(f.options, option{Take{device, part}, free, cost})
		}
	}
}
