package packing

import "math"

// How far a forecast looks ahead.
const (
	// longest is how many requests a sequence has at most. They fill a node several times
	// over.
	longest = 160
	// draws is about how many requests all sequences of a class have together.
	draws = 1200
	// fewest and most are how many sequences there are; all numbers of them divide Scale.
	fewest, most = 30, 480
)

// span returns how many requests the sequences of the node's class have and how many
// sequences there are.
//
// A node is offered as many requests as come before what runs on it has gone: where
// little goes, they fill it up; where as much goes as comes, they are as many as it holds.
// Beyond that the node is another one, and what is asked for then finds the room of what
// has ended. Looking further there makes every node look as good as full.
func (f *Forecast) span(n *Node, eligible []int32, sum float64) (length, sequences int) {
	var capacity, mean float64
	for i := range n.Devices {
		capacity += float64(n.Devices[i].Layout.milli())
	}
	for _, i := range eligible {
		mean += f.items[i].rate / sum * float64(f.sizeOf(n, int(i)))
	}
	length = longest
	if holds := capacity / max(mean, 1); f.churn > 0 {
		length = int(min(max(math.Round(holds/f.churn), 1), longest))
	}
	sequences = fewest
	for sequences*2 <= most && length*sequences*2 <= draws {
		sequences *= 2
	}
	return length, sequences
}

// sizeOf is what the item takes of the node's devices, in thousandths of one: the most,
// where they differ, so that their order is nothing.
func (f *Forecast) sizeOf(n *Node, index int) int64 {
	it := &f.items[index]
	var size int64
	for i := range n.Devices {
		t := f.tableOf(n.Devices[i].Layout)
		kind := t.kinds[index]
		switch {
		case kind < 0:
		case t.layout.parts == nil:
			size = max(size, int64(it.unit)*int64(it.count))
		default:
			size = max(size, t.sizes[kind]*int64(it.count))
		}
	}
	return size
}

// milli is what a device of the layout has, in thousandths of one.
func (l *Layout) milli() uint64 {
	if l.parts == nil {
		return l.full
	}
	return Whole
}
