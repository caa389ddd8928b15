package packing

// rollOut offers the node every sequence of arrivals and returns what it takes of them. An
// arrival that fits is taken, on the device that it fills best.
func (f *Forecast) rollOut(n *Node, c *class) int64 {
	var room int64
	for i := range n.Devices {
		room += n.Devices[i].Layout.room(n.Devices[i].Free)
	}
	if room <= 0 {
		return 0
	}
	fill := f.fill
	if c.plain {
		fill = f.fillPlain
	}
	var sum int64
	for _, arrivals := range c.arrivals {
		sum += fill(n, c, arrivals, room)
	}
	return sum * c.weight
}

// fillPlain is fill for nodes whose devices all serve one kind and are divisible.
func (f *Forecast) fillPlain(n *Node, c *class, arrivals []arrival, room int64) int64 {
	cpu, memory := n.CPUMilli, n.MemoryMiB
	free := f.free[:len(n.Devices)]
	var most uint64
	for i := range free {
		free[i] = n.Devices[i].Free
		most = max(most, free[i])
	}
	var sum int64
	for i := range arrivals {
		a := &arrivals[i]
		if a.unit > most || a.cpu > cpu || a.memory > memory {
			continue
		}
		if !takePlain(free, f.undo[:len(free)], a) {
			continue
		}
		taken := int64(a.unit) * int64(a.count)
		sum += taken
		room -= taken
		cpu -= a.cpu
		memory -= a.memory
		if room <= 0 || cpu < c.cpu || memory < c.memory {
			break
		}
		most = 0
		for _, left := range free {
			most = max(most, left)
		}
	}
	return sum
}

// takePlain takes all units of the arrival, each from the device that has least to spare;
// if there are too few it takes nothing.
func takePlain(free, undo []uint64, a *arrival) bool {
	if a.count > 1 {
		copy(undo, free)
	}
	for unit := range a.count {
		best, bestFree := -1, ^uint64(0)
		for i, left := range free {
			if left >= a.unit && left < bestFree {
				best, bestFree = i, left
			}
		}
		if best < 0 {
			if unit > 0 {
				copy(free, undo)
			}
			return false
		}
		free[best] -= a.unit
	}
	return true
}

// fill offers the node the arrivals one after the other and returns what it took of them.
func (f *Forecast) fill(n *Node, c *class, arrivals []arrival, _ int64) int64 {
	cpu, memory := n.CPUMilli, n.MemoryMiB
	for i := range n.Devices {
		d := &n.Devices[i]
		f.table[i] = f.tableOf(d.Layout)
		f.free[i] = f.table[i].start(d.Free)
	}
	var sum int64
	for i := range arrivals {
		a := &arrivals[i]
		if a.cpu > cpu || a.memory > memory {
			continue
		}
		taken := f.take(len(n.Devices), a)
		if taken == 0 {
			continue
		}
		sum += taken
		cpu -= a.cpu
		memory -= a.memory
		if cpu < c.cpu || memory < c.memory {
			break
		}
	}
	return sum
}

// take takes all units of the arrival and returns how much that is; if the devices do not
// have them it takes nothing.
func (f *Forecast) take(devices int, a *arrival) int64 {
	if a.count > 1 {
		copy(f.undo[:devices], f.free[:devices])
	}
	var taken int64
	for range a.count {
		size := f.takeUnit(devices, a)
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

// takeUnit takes one unit from the device that has least to spare, or of partitioned ones
// loses least room.
func (f *Forecast) takeUnit(devices int, a *arrival) int64 {
	best, bestFree, bestRank, bestSize := -1, uint64(0), ^uint64(0), int64(0)
	for i := range devices {
		t, free := f.table[i], f.free[i]
		kind := t.kinds[a.item]
		if kind < 0 {
			continue
		}
		if t.layout.parts == nil {
			if free >= a.unit && free < bestRank {
				best, bestFree, bestRank, bestSize = i, free-a.unit, free, int64(a.unit)
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
