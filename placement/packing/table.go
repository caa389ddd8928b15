package packing

// table knows how the devices of one layout fill up. For a partitioned one it gives the
// states that are met small numbers, so that following an arrival is one look-up.
type table struct {
	id     int
	layout *Layout
	// kinds has for each item of the forecast the number of its kind, -1 for those that
	// the layout does not serve.
	kinds []int16
	// sizes has for each kind the share of a device that one is, in thousandths.
	sizes []int64
	names []string

	numbers map[uint64]uint64
	states  []tableState
}

type tableState struct {
	free uint64
	room int64
	// next has for each kind the state after one more, or one of the two below.
	next []int32
}

const (
	never   = -1
	unknown = -2
)

func newTable(id int, layout *Layout, items []item) *table {
	t := &table{id: id, layout: layout, kinds: make([]int16, len(items)), numbers: map[uint64]uint64{}}
	known := map[string]int16{}
	for i := range items {
		kind := items[i].request.Kind
		number, met := known[kind]
		if !met {
			number = never
			if size, ok := layout.sizeOf(kind); ok {
				number = int16(len(t.names))
				t.names, t.sizes = append(t.names, kind), append(t.sizes, size)
			}
			known[kind] = number
		}
		t.kinds[i] = number
	}
	return t
}

// sizeOf is the share of a device that a part of the kind is; 0 where the request says it.
func (l *Layout) sizeOf(kind string) (int64, bool) {
	if l.parts == nil {
		return 0, l.kind == kind
	}
	for i := range l.parts {
		if l.parts[i].Kind == kind {
			return int64(l.parts[i].Milli), true
		}
	}
	return 0, false
}

// start is how the rollout writes down what is left of a device: a divisible one as it
// is, a partitioned one as the number of its state.
func (t *table) start(free uint64) uint64 {
	if t.layout.parts == nil {
		return free
	}
	number, met := t.numbers[free]
	if !met {
		number = uint64(len(t.states))
		next := make([]int32, len(t.names))
		for i := range next {
			next[i] = unknown
		}
		t.numbers[free] = number
		t.states = append(t.states, tableState{free: free, room: t.layout.room(free), next: next})
	}
	return number
}

// after is the state after one more of the kind, at the place that leaves most room.
func (t *table) after(number uint64, kind int16) int32 {
	if next := t.states[number].next[kind]; next != unknown {
		return next
	}
	free, best, bestRoom := t.states[number].free, int32(never), int64(-1)
	for part := range t.layout.parts {
		if t.layout.parts[part].Kind != t.names[kind] {
			continue
		}
		left, ok := t.layout.Take(free, part)
		if !ok {
			continue
		}
		next := int32(t.start(left))
		if room := t.states[next].room; room > bestRoom {
			best, bestRoom = next, room
		}
	}
	t.states[number].next[kind] = best
	return best
}
