package packing

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// Layouts of the random fleets in these tests.
var (
	wholeGPU = Divisible("gpu", Whole)
	pool     = Divisible("shared", 4*Whole)
	// quarters is cut up as an A30 is.
	quarters = mustLayout("quarters", []Counter{{"memory", 4}, {"compute", 4}}, []PartSpec{
		placed("1g", 0, 1), placed("1g", 1, 1), placed("1g", 2, 1), placed("1g", 3, 1),
		placed("2g", 0, 2), placed("2g", 2, 2), placed("4g", 0, 4),
	}, 4)
	// askew has parts that overlap, so that which one is taken first decides how many fit.
	askew = mustLayout("askew", nil, []PartSpec{
		placed("odd", 0, 2), placed("odd", 1, 2), placed("odd", 2, 2), placed("odd", 3, 2),
		placed("1g", 0, 1), placed("1g", 4, 1), placed("3g", 1, 3),
	}, 5)
)

// placed is a part of that many slices from the start.
func placed(kind string, start, size int) PartSpec {
	p := PartSpec{Kind: kind, Name: fmt.Sprint(kind, "@", start), Milli: int32(size * 250), Consumes: map[string]uint64{}}
	for slice := start; slice < start+size; slice++ {
		p.Consumes[fmt.Sprint("slice-", slice)] = 1
	}
	return p
}

// mustLayout makes a layout of the counters and of as many slices.
func mustLayout(name string, counters []Counter, parts []PartSpec, slices int) *Layout {
	for i := range slices {
		counters = append(counters, Counter{fmt.Sprint("slice-", i), 1})
	}
	l, err := NewLayout(name, counters, parts)
	if err != nil {
		panic(err)
	}
	return l
}

// world draws nodes and requests.
type world struct{ *rand.Rand }

func newWorld(seed uint64) world { return world{rand.New(rand.NewPCG(seed, 7))} }

// device is one of a layout with something taken of it.
func (w world) device(l *Layout) Device {
	d := Device{Layout: l, Free: l.Full()}
	if l.Parts() == nil {
		d.Free = w.Uint64N(l.Full()/50+1) * 50
		if w.IntN(3) == 0 {
			d.Free = l.Full()
		}
	}
	for range w.IntN(4) {
		if len(l.Parts()) > 0 {
			d.Free, _ = l.Take(d.Free, w.IntN(len(l.Parts())))
		}
	}
	if w.IntN(6) == 0 {
		d.Tier = int8(w.IntN(3))
	}
	if w.IntN(6) == 0 {
		d.Busy = int16(w.IntN(Whole))
	}
	return d
}

func (w world) node() Node {
	n := Node{Product: []string{"A", "B", ""}[w.IntN(3)], CPUMilli: w.Int64N(64) * 1000, MemoryMiB: w.Int64N(512) * 1024}
	layouts := []*Layout{wholeGPU, wholeGPU, pool, quarters, askew}
	only := layouts[w.IntN(len(layouts))]
	for range w.IntN(5) {
		if w.IntN(4) > 0 {
			n.Devices = append(n.Devices, w.device(only))
			continue
		}
		n.Devices = append(n.Devices, w.device(layouts[w.IntN(len(layouts))]))
	}
	return n
}

func (w world) request() Request {
	r := Request{
		Kind: []string{"gpu", "gpu", "gpu", "shared", "1g", "2g", "4g", "odd", "3g", "none", ""}[w.IntN(11)], Count: int32(1 + w.IntN(3)), Milli: Whole,
		CPUMilli: w.Int64N(16) * 1017, MemoryMiB: w.Int64N(64) * 1017, Products: []string{"", "", "", "A", "A|B"}[w.IntN(5)],
	}
	if w.IntN(3) == 0 {
		r.Milli = int32(50 * (1 + w.IntN(20)))
	}
	return r
}

func (w world) mix() *Mix {
	var items []Item
	for range w.IntN(12) {
		items = append(items, Item{w.request().Coarse(), 1 + w.Int64N(100)})
	}
	return NewMix(items)
}

// pick draws one of them.
func pick[T any](w world, of []T) T { return of[w.IntN(len(of))] }

// clone copies the node with its devices.
func clone(n *Node) *Node {
	c := *n
	c.Devices = slices.Clone(n.Devices)
	return &c
}

// apply takes what was chosen from the node, and fails the test where that is illegal.
func apply(t *testing.T, n *Node, r *Request, takes []Take) {
	t.Helper()
	if want := int(r.Count); r.Kind != "" && len(takes) != want {
		t.Fatalf("%d takes, want %d: %+v of %+v", len(takes), want, takes, n)
	}
	for _, take := range takes {
		d := &n.Devices[take.Device]
		if take.Part < 0 {
			if d.Layout.kind != r.Kind || d.Free < uint64(r.Milli) {
				t.Fatalf("taking %+v of %+v for %+v", take, d, r)
			}
			d.Free -= uint64(r.Milli)
			continue
		}
		free, ok := d.Layout.Take(d.Free, take.Part)
		if !ok || d.Layout.Parts()[take.Part].Kind != r.Kind {
			t.Fatalf("taking %+v of %+v for %+v", take, d, r)
		}
		d.Free = free
	}
}

// possible tells by trying everything whether the devices can serve so many units.
func possible(devices []Device, r *Request, count int32) bool {
	if count <= 0 || r.Kind == "" {
		return true
	}
	for i := range devices {
		d := &devices[i]
		was := d.Free
		if d.Layout.parts == nil && d.Layout.kind == r.Kind && d.Free >= uint64(r.Milli) {
			d.Free -= uint64(r.Milli)
			ok := possible(devices, r, count-1)
			d.Free = was
			if ok {
				return true
			}
		}
		for part := range d.Layout.parts {
			free, ok := d.Layout.Take(d.Free, part)
			if !ok || d.Layout.parts[part].Kind != r.Kind {
				continue
			}
			d.Free = free
			ok = possible(devices, r, count-1)
			d.Free = was
			if ok {
				return true
			}
		}
	}
	return false
}
