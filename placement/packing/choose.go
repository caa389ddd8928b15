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
	// Price is the value that the node loses, times Scale.
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
	if !n.offers(r) {
		return Cost{}, false
	}
	f.devices = append(f.devices[:0], n.Devices...)
	after := Node{Product: n.Product, CPUMilli: max(n.CPUMilli-r.CPUMilli, 0), MemoryMiB: max(n.MemoryMiB-r.MemoryMiB, 0), Devices: f.devices}
	var cost Cost
	if r.Kind != "" {
		if !f.chooseUnits(&after, r, &cost, takes) {
			// The best places for the first units left none for the last.
			copy(f.devices, n.Devices)
			cost = Cost{}
			if takes != nil {
				*takes = (*takes)[:0]
			}
			f.chooseFirst(&after, r, &cost, takes)
		}
		if n.untouched() {
			cost.Price += openingCost * Scale
		}
	}
	cost.Price += before - f.Value(&after)
	return cost, true
}

// chooseUnits takes the best place for each unit in turn; false when none is left for one.
func (f *Forecast) chooseUnits(n *Node, r *Request, cost *Cost, takes *[]Take) bool {
	for range r.Count {
		if !f.chooseUnit(n, r, cost, takes) {
			return false
		}
	}
	return true
}

// chooseFirst takes the first place for each unit, as Fits does, so that there are enough.
func (f *Forecast) chooseFirst(n *Node, r *Request, cost *Cost, takes *[]Take) {
	left := r.Count
	for i := range n.Devices {
		for f.listPlaces(n, i, r); left > 0 && len(f.options) > 0; f.listPlaces(n, i, r) {
			n.take(&f.options[0], cost, takes)
			left--
		}
	}
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
	n.take(best, cost, takes)
	return true
}

// take takes the place and adds what it costs beside the value that is lost.
func (n *Node) take(o *option, cost *Cost, takes *[]Take) {
	d := &n.Devices[o.take.Device]
	d.Free = o.free
	cost.Tier = max(cost.Tier, d.Tier)
	cost.Price += int64(d.Busy) * Scale
	if takes != nil {
		*takes = append(*takes, o.take)
	}
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
	cost := Cost{Tier: d.Tier, Price: int64(d.Busy) * Scale}
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
