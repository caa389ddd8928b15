package packing

import (
	"math/rand/v2"
	"sort"
)

// How far a forecast looks ahead: a node is offered so many arrivals, which fill it
// several times over, in so many orders. More of both changes little
// (docs/design/0004-packing.md).
const (
	horizon   = 160
	sequences = 30
)

const (
	// memoLimit is how many values a forecast remembers.
	memoLimit = 1 << 17
	// maxDevices is how many devices a node may have and still be valued.
	maxDevices = 64
)

// Forecast is what will probably be asked for, and so what nodes are worth. It is made
// for a mix and for the room that the fleet had for each kind of request. It is not safe
// for concurrent use.
type Forecast struct {
	items   []item
	classes map[classKey]*class
	tables  map[*Layout]*table
	memo    map[string]int64

	// Scratch space of one call.
	key     []byte
	sorted  []state
	devices []Device
	options []option
	free    [maxDevices]uint64
	undo    [maxDevices]uint64
	table   [maxDevices]*table
}

// item is one kind of request, as the rollout reads it.
type item struct {
	request     Request
	cpu, memory int64
	count       int32
	// unit is what a unit takes of a divisible device.
	unit uint64
	rate float64
}

// NewForecast returns what the mix will ask of a fleet. Places says how often the fleet
// could take each item of the mix alone; it is as long as the mix.
//
// A kind of request reaches a node the more often, the fewer places there are for it:
// its weight is divided by them. So the last machine on which eight whole devices are
// free is kept for who needs eight, and one of a thousand is not.
func NewForecast(mix *Mix, places []int64) *Forecast {
	f := &Forecast{classes: map[classKey]*class{}, tables: map[*Layout]*table{}, memo: map[string]int64{}}
	for i := range mix.Items {
		r := mix.Items[i].Request
		f.items = append(f.items, item{
			request: r, cpu: r.CPUMilli, memory: r.MemoryMiB, unit: uint64(max(r.Milli, 0)), count: r.Count,
			rate: float64(mix.Items[i].Weight) / float64(max(places[i], 1)),
		})
	}
	return f
}

// Value is what the node would still take of what will probably be asked for, in
// thousandths of a device and summed over all sequences (Mean divides). Nodes that differ
// in the order of their devices only have one value.
func (f *Forecast) Value(n *Node) int64 {
	if len(f.items) == 0 || len(n.Devices) > maxDevices {
		return 0
	}
	c := f.class(n)
	f.key = f.appendState(f.key[:0], n, c)
	if value, known := f.memo[string(f.key)]; known {
		return value
	}
	if len(f.memo) >= memoLimit {
		clear(f.memo)
	}
	key := string(f.key)
	var value int64
	for _, arrivals := range c.arrivals {
		value += f.fill(n, c, arrivals)
	}
	f.memo[key] = value
	return value
}

// Mean turns a sum over all sequences, such as a Value, into thousandths of a device.
func Mean(sum int64) int64 { return sum / sequences }

// fill offers the node the arrivals one after the other and returns what it took of them.
func (f *Forecast) fill(n *Node, c *class, arrivals []int16) int64 {
	cpu, memory := n.CPUMilli, n.MemoryMiB
	var room, sum int64
	for i := range n.Devices {
		d := &n.Devices[i]
		f.table[i] = f.tableOf(d.Layout)
		f.free[i] = f.table[i].start(d.Free)
		room += d.Layout.room(d.Free)
	}
	for _, i := range arrivals {
		if room <= 0 || cpu < c.cpu || memory < c.memory {
			break
		}
		it := &f.items[i]
		if it.cpu > cpu || it.memory > memory {
			continue
		}
		taken := f.take(len(n.Devices), int(i))
		if taken == 0 {
			continue
		}
		cpu -= it.cpu
		memory -= it.memory
		room -= taken
		sum += taken
	}
	return sum
}

// take takes all units of the item from the devices, each from the one that it fills
// best, and returns how much that is. If they do not have it, it takes nothing.
func (f *Forecast) take(devices, index int) int64 {
	it := &f.items[index]
	if it.count > 1 {
		copy(f.undo[:devices], f.free[:devices])
	}
	var taken int64
	for range it.count {
		size := f.takeUnit(devices, index, it.unit)
		if size == 0 {
			if taken > 0 {
				copy(f.free[:devices], f.undo[:devices])
			}
			return 0
		}
		taken += size
	}
	return taken
}

func (f *Forecast) takeUnit(devices, index int, unit uint64) int64 {
	best, bestFree, bestRank, bestSize := -1, uint64(0), ^uint64(0), int64(0)
	for i := range devices {
		t, free := f.table[i], f.free[i]
		kind := t.kinds[index]
		if kind < 0 {
			continue
		}
		if t.layout.parts == nil {
			if free >= unit && free < bestRank {
				best, bestFree, bestRank, bestSize = i, free-unit, free, int64(unit)
			}
			continue
		}
		next := t.after(free, kind)
		if next < 0 {
			continue
		}
		before, after := t.states[free].room, t.states[next].room
		if rank := uint64(before-after)<<24 | uint64(before); rank < bestRank {
			best, bestFree, bestRank, bestSize = i, uint64(next), rank, t.sizes[kind]
		}
	}
	if best < 0 {
		return 0
	}
	f.free[best] = bestFree
	return bestSize
}

func (f *Forecast) tableOf(l *Layout) *table {
	t, met := f.tables[l]
	if !met {
		t = newTable(len(f.tables), l, f.items)
		f.tables[l] = t
	}
	return t
}

// class is what nodes have in common that decides which requests come to them.
type class struct {
	id int
	// arrivals are sequences of indices of items.
	arrivals [][]int16
	// The least that any of the arrivals takes.
	cpu, memory int64
}

type classKey struct {
	product string
	devices int
	// layouts has a bit for each layout of the devices; more than 64 share bits.
	layouts uint64
}

func (f *Forecast) class(n *Node) *class {
	key := classKey{product: n.Product, devices: len(n.Devices)}
	for i := range n.Devices {
		key.layouts |= 1 << (f.tableOf(n.Devices[i].Layout).id % 64)
	}
	c, met := f.classes[key]
	if !met {
		c = f.draw(len(f.classes), n)
		f.classes[key] = c
	}
	return c
}

// draw draws the arrivals of the node's class. The draw is the same every time: in each
// sequence the share of each kind is right to one arrival, and only the order is left to
// a fixed sequence of numbers.
func (f *Forecast) draw(id int, n *Node) *class {
	c := &class{id: id}
	var cumulated []float64
	var eligible []int16
	var sum float64
	for i := range f.items {
		it := &f.items[i]
		if !it.request.accepts(n.Product) || !f.served(n, i) {
			continue
		}
		if len(eligible) == 0 {
			c.cpu, c.memory = it.cpu, it.memory
		}
		c.cpu, c.memory = min(c.cpu, it.cpu), min(c.memory, it.memory)
		sum += it.rate
		cumulated, eligible = append(cumulated, sum), append(eligible, int16(i))
	}
	if len(eligible) == 0 {
		return c
	}
	random := rand.New(rand.NewPCG(1, 2)) // #nosec G404 -- must be the same everywhere
	for range sequences {
		arrivals := make([]int16, horizon)
		for k := range arrivals {
			at := (float64(k) + random.Float64()) / horizon * sum
			arrivals[k] = eligible[min(sort.SearchFloat64s(cumulated, at), len(eligible)-1)]
		}
		random.Shuffle(len(arrivals), func(i, j int) { arrivals[i], arrivals[j] = arrivals[j], arrivals[i] })
		c.arrivals = append(c.arrivals, arrivals)
	}
	return c
}

func (f *Forecast) served(n *Node, index int) bool {
	for i := range n.Devices {
		if f.tableOf(n.Devices[i].Layout).kinds[index] >= 0 {
			return true
		}
	}
	return false
}
