package packing

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"sort"
)

// class is what nodes have in common that decides which requests come to them.
type class struct {
	id int
	// arrivals are the sequences.
	arrivals [][]arrival
	// The least that any of the arrivals takes.
	cpu, memory int64
	// weight brings the sum over the sequences to Scale.
	weight int64
	// plain tells that all devices are divisible and serve one kind.
	plain bool
}

// arrival is one request of a sequence, with what decides most often that it finds no room
// at hand.
type arrival struct {
	cpu, memory int64
	unit        uint64
	count       int32
	item        int32
}

// class returns the class of the node, whose devices are in f.sorted. It is that of all
// nodes with the same product and layouts, and depends on nothing else: which node comes
// first must not matter.
func (f *Forecast) class(n *Node) *class {
	f.key = binary.AppendUvarint(f.key[:0], uint64(len(f.sorted)))
	for i := range f.sorted {
		f.key = binary.AppendUvarint(f.key, uint64(f.sorted[i].layout))
	}
	f.key = append(f.key, n.Product...)
	c, met := f.classes[string(f.key)]
	if !met {
		key := string(f.key)
		c = f.draw(len(f.classes), n)
		f.classes[key] = c
	}
	return c
}

// draw draws the arrivals of the node's class. The draw is the same every time: in
// all sequences together the share of each kind is right to one arrival, and only the
// order is left to a fixed sequence of numbers.
func (f *Forecast) draw(id int, n *Node) *class {
	c := &class{id: id, plain: plain(n)}
	var cumulated []float64
	var eligible []int32
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
		cumulated, eligible = append(cumulated, sum), append(eligible, int32(i))
	}
	if len(eligible) == 0 {
		return c
	}
	horizon, sequences := f.span(n, eligible, sum)
	c.weight = Scale / int64(sequences)
	random := rand.New(rand.NewPCG(1, 2)) // #nosec G404 -- must be the same everywhere
	arrivals := make([]arrival, horizon*sequences)
	for k := range arrivals {
		at := (float64(k) + random.Float64()) / float64(len(arrivals)) * sum
		i := eligible[min(sort.SearchFloat64s(cumulated, at), len(eligible)-1)]
		it := &f.items[i]
		arrivals[k] = arrival{it.cpu, it.memory, it.unit, it.count, i}
	}
	random.Shuffle(len(arrivals), func(i, j int) { arrivals[i], arrivals[j] = arrivals[j], arrivals[i] })
	c.arrivals = slices.Collect(slices.Chunk(arrivals, horizon))
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

// plain tells whether all devices are divisible and serve one kind.
func plain(n *Node) bool {
	for i := range n.Devices {
		if l := n.Devices[i].Layout; l.parts != nil || l.kind != n.Devices[0].Layout.kind {
			return false
		}
	}
	return true
}
