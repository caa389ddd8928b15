package packing

import (
	"errors"
	"fmt"
	"maps"
	"math/bits"
	"slices"
)

// Layout is how devices of one model can be divided. It is immutable; devices share it.
//
// What a device has left is one word. For a divisible device that is a number of
// thousandths. For a partitioned one it holds a field for each counter of the device
// (memory slices, compute slices), each a bit wider than the counter needs: then a part
// fits when taking its word leaves every field's top bit alone.
type Layout struct {
	name string
	// kind is what a divisible device serves; empty for a partitioned one.
	kind string
	full uint64
	// guard has the top bit of each field.
	guard uint64
	parts []Part
}

// Part is one way to take something of a partitioned device: a MIG profile at one place,
// or a DRA device that consumes counters.
type Part struct {
	// Kind is the name by which it is asked for, Name tells it from others of its kind.
	Kind, Name string
	// Milli is the share of the device that it is, in thousandths: what it keeps from
	// others, not what it computes.
	Milli int32

	need uint64
}

// Divisible returns the layout of devices that can be shared to the thousandth and that
// serve one kind. A pool of devices of which somebody else picks one is a divisible
// device too, with room for all of them.
func Divisible(kind string, room uint64) *Layout {
	return &Layout{name: kind, kind: kind, full: room}
}

// Counter is one thing that parts of a device compete for.
type Counter struct {
	Name  string
	Value uint64
}

// PartSpec says what a part takes of the device's counters, by name.
type PartSpec struct {
	Kind, Name string
	Milli      int32
	Consumes   map[string]uint64
}

// maxFields is how many bits a device's state may take.
const maxFields = 64

// NewLayout returns the layout of a device whose parts share counters, as MIG instances
// and partitionable DRA devices do. Errors name the counter or part at fault; counters
// that do not fit into 64 bits, each with one to spare, are one.
func NewLayout(name string, counters []Counter, specs []PartSpec) (*Layout, error) {
	l := &Layout{name: name, parts: make([]Part, 0, len(specs))}
	shift := map[string]int{}
	values := map[string]uint64{}
	var errs []error
	used := 0
	for _, c := range counters {
		if _, twice := shift[c.Name]; twice {
			errs = append(errs, fmt.Errorf("counter %s is there twice", c.Name))
			continue
		}
		width := bits.Len64(c.Value) + 1
		if used+width > maxFields {
			return nil, fmt.Errorf("counters up to %s take more than %d bits: scale values by what all parts have in common", c.Name, maxFields)
		}
		shift[c.Name], values[c.Name] = used, c.Value
		l.full |= c.Value << used
		l.guard |= 1 << (used + width - 1)
		used += width
	}
	for _, spec := range specs {
		part := Part{Kind: spec.Kind, Name: spec.Name, Milli: spec.Milli}
		nothing := true
		for _, counter := range slices.Sorted(maps.Keys(spec.Consumes)) {
			amount := spec.Consumes[counter]
			nothing = nothing && amount == 0
			at, known := shift[counter]
			switch {
			case !known:
				errs = append(errs, fmt.Errorf("part %s consumes %s, which is no counter of the device", spec.Name, counter))
			case amount > values[counter]:
				errs = append(errs, fmt.Errorf("part %s consumes %d of %s, the device has %d", spec.Name, amount, counter, values[counter]))
			default:
				part.need |= amount << at
			}
		}
		if nothing {
			errs = append(errs, fmt.Errorf("part %s consumes nothing", spec.Name))
		}
		l.parts = append(l.parts, part)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return l, nil
}

// Name returns the layout's name, for people.
func (l *Layout) Name() string { return l.name }

// Full is what an untouched device has left.
func (l *Layout) Full() uint64 { return l.full }

// Parts returns the parts of a partitioned device, in the order in which they were given;
// the caller must not change them.
func (l *Layout) Parts() []Part { return l.parts }

// serves tells whether devices of the layout can serve the kind.
func (l *Layout) serves(kind string) bool {
	if l.parts == nil {
		return l.kind == kind
	}
	return slices.ContainsFunc(l.parts, func(p Part) bool { return p.Kind == kind })
}

// fits tells whether the part can be taken of what is left.
func (l *Layout) fits(free uint64, part int) bool {
	return ((free|l.guard)-l.parts[part].need)&l.guard == l.guard
}

// Take returns what is left of the device after the part, by its index in Parts; false
// when it does not fit.
func (l *Layout) Take(free uint64, part int) (uint64, bool) {
	if !l.fits(free, part) {
		return free, false
	}
	return free - l.parts[part].need, true
}

// Give returns what is left after the part has been given back. It must have been taken.
func (l *Layout) Give(free uint64, part int) uint64 { return free + l.parts[part].need }

// room is what is left: the thousandths of a divisible device, or the sizes of all parts
// that still fit, each alone. The latter is more than the device has, and the more the
// more choice is left.
func (l *Layout) room(free uint64) int64 {
	if l.parts == nil {
		return int64(min(free, 1<<40))
	}
	var sum int64
	for i := range l.parts {
		if l.fits(free, i) {
			sum += int64(l.parts[i].Milli)
		}
	}
	return sum
}
