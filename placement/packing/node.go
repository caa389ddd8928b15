package packing

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// Device is one device as it is now, or a pool of which somebody else picks one.
type Device struct {
	Layout *Layout
	// Free is what is left of it: thousandths of a divisible device, else a word that
	// Layout.Full and Layout.Take make.
	Free uint64
	// Tier orders devices before any price: lower is better, 0 is a device that nothing
	// speaks against.
	Tier int8
	// Busy is what sharing the device costs now, in thousandths of a device: its other
	// users are working. It does not hold off what the device alone will get.
	Busy int16
}

// Node is one machine as it is now: what is free of it. Devices that must not get work
// are left out, so that only healthy capacity counts.
type Node struct {
	Product             string
	CPUMilli, MemoryMiB int64
	Devices             []Device
}

func (n *Node) equal(m *Node) bool {
	return n.Product == m.Product && n.CPUMilli == m.CPUMilli && n.MemoryMiB == m.MemoryMiB && slices.Equal(n.Devices, m.Devices)
}

// has tells whether the machine has what the request takes beside devices.
func (n *Node) has(r *Request) bool {
	return n.CPUMilli >= r.CPUMilli && n.MemoryMiB >= r.MemoryMiB && r.accepts(n.Product)
}

// Fits tells whether the node can take the request as it is.
func (n *Node) Fits(r *Request) bool {
	return n.has(r) && n.offers(r)
}

// offers tells whether the devices have what the request takes of them.
func (n *Node) offers(r *Request) bool {
	if r.Kind == "" {
		return true
	}
	left := int64(r.Count)
	for i := range n.Devices {
		if left <= 0 {
			break
		}
		left -= n.Devices[i].units(r, left)
	}
	return left <= 0
}

// units is how many units of the request the device can serve alone, up to limit. Parts
// are taken first fit, which is exact for one.
func (d *Device) units(r *Request, limit int64) int64 {
	if d.Layout.parts == nil {
		switch {
		case d.Layout.kind != r.Kind:
			return 0
		case r.Milli <= 0:
			return limit
		}
		return min(limit, int64(min(d.Free, 1<<40))/int64(r.Milli))
	}
	var count int64
	free := d.Free
	for i := 0; i < len(d.Layout.parts) && count < limit; i++ {
		if d.Layout.parts[i].Kind != r.Kind {
			continue
		}
		if after, ok := d.Layout.Take(free, i); ok {
			free = after
			count++
		}
	}
	return count
}

// capacity is the room of the node if nothing were taken.
func (n *Node) capacity() int64 {
	var sum int64
	for i := range n.Devices {
		sum += n.Devices[i].Layout.room(n.Devices[i].Layout.full)
	}
	return sum
}

// copies is how often the node could take the request and nothing else.
func (n *Node) copies(r *Request) int64 {
	if !r.accepts(n.Product) {
		return 0
	}
	const most = 1 << 30
	var units int64
	for i := range n.Devices {
		units += n.Devices[i].units(r, most)
	}
	copies := units / max(int64(r.Count), 1)
	if r.CPUMilli > 0 {
		copies = min(copies, n.CPUMilli/r.CPUMilli)
	}
	if r.MemoryMiB > 0 {
		copies = min(copies, n.MemoryMiB/r.MemoryMiB)
	}
	return copies
}

// untouched tells that nothing of any device is taken.
func (n *Node) untouched() bool {
	for i := range n.Devices {
		if n.Devices[i].Free != n.Devices[i].Layout.full {
			return false
		}
	}
	return true
}

// room is what all devices have left, by which changes are measured.
func (n *Node) room() int64 {
	var sum int64
	for i := range n.Devices {
		sum += n.Devices[i].Layout.room(n.Devices[i].Free)
	}
	return sum
}

// appendState appends what the value of the node depends on, its devices as f.sorted has
// them: nodes with equal states are worth the same.
func (f *Forecast) appendState(key []byte, n *Node, c *class) []byte {
	key = binary.AppendVarint(key, int64(c.id))
	key = binary.AppendVarint(key, n.CPUMilli)
	key = binary.AppendVarint(key, n.MemoryMiB)
	for _, s := range f.sorted {
		key = binary.AppendUvarint(key, uint64(s.layout))
		key = binary.AppendUvarint(key, s.free)
	}
	return key
}

// sort puts the devices into f.sorted, in an order that does not depend on theirs.
func (f *Forecast) sort(n *Node) {
	f.sorted = f.sorted[:0]
	for i := range n.Devices {
		f.sorted = append(f.sorted, state{f.tableOf(n.Devices[i].Layout).id, n.Devices[i].Free})
	}
	slices.SortFunc(f.sorted, func(a, b state) int {
		return cmp.Or(cmp.Compare(a.layout, b.layout), cmp.Compare(a.free, b.free))
	})
}

// state is a device as far as the value of its node goes.
type state struct {
	layout int
	free   uint64
}
