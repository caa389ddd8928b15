package placement

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/internal/accelerator"
	"wastenot.dev/internal/fleet"
	"wastenot.dev/internal/quarantine"
)

// world is a node as it is: what kubelet and device plugin know, which a View shows in
// part only. The kubelet hands out any device that the vendor's plugin has not taken
// out.
type world struct {
	view    View
	want    accelerator.Request
	devices []truth
}

// truth is one device.
type truth struct {
	fleet.Device

	// units are what it gives of the request's resource.
	units int64
	// known tells that telemetry reports it, layoutKnown that its partitions too.
	known, layoutKnown bool
	quarantine         *quarantine.Entry
}

func (d *truth) unfit() bool {
	if d.quarantine != nil {
		return !d.quarantine.Released
	}
	return d.known && d.Grade == v1alpha1.GradeFailed
}

func (d *truth) expectedOut() bool {
	return (d.known && d.VendorExcludes) || (d.quarantine != nil && d.quarantine.VendorExcludes)
}

// unitsOf adds the units of the devices in the set, a bit for each.
func (w *world) unitsOf(set uint) int64 {
	var units int64
	for i := range w.devices {
		if set&(1<<i) != 0 {
			units += w.devices[i].units
		}
	}
	return units
}

func (w *world) all() uint { return 1<<len(w.devices) - 1 }

// expected is the set that the vendor's plugin is said to take out.
func (w *world) expected() uint {
	var set uint
	for i := range w.devices {
		if w.devices[i].expectedOut() {
			set |= 1 << i
		}
	}
	return set
}

// possible are the sets that may be out, by the counts that Kubernetes publishes: what
// is expected, or, where the counts contradict that, any set of as many units.
func (w *world) possible() []uint {
	out := w.view.Capacity - w.view.Allocatable
	if expected := w.expected(); w.unitsOf(expected) == out {
		return []uint{expected}
	}
	var sets []uint
	for set := range w.all() + 1 {
		if w.unitsOf(set) == out {
			sets = append(sets, set)
		}
	}
	return sets
}

// handsOutUnfit tells whether, with the set out, the request may get an unfit device.
func (w *world) handsOutUnfit(set uint) bool {
	for i := range w.devices {
		if d := &w.devices[i]; d.unfit() && d.units > 0 && set&(1<<i) == 0 {
			return true
		}
	}
	return false
}

// mayServeUnfit tells whether, for all that is known, an unfit device could serve.
func (w *world) mayServeUnfit() bool {
	for i := range w.devices {
		d := &w.devices[i]
		if d.unfit() && (d.units > 0 || !d.known || !d.layoutKnown) {
			return true
		}
	}
	return false
}

// wellKnown tells that telemetry knows all devices with their layouts.
func (w *world) wellKnown() bool {
	for i := range w.devices {
		if !w.devices[i].known || !w.devices[i].layoutKnown {
			return false
		}
	}
	return true
}

func randomWorld(random *rand.Rand) *world {
	w := &world{want: []accelerator.Request{wholeGPU, sharedGPU, smallMIG, bigMIG}[random.IntN(4)]}
	w.view.MixedMIG = w.want.Kind == accelerator.KindMIG || random.IntN(2) == 0
	w.view.Stale = random.IntN(4) == 0
	down := random.IntN(8) == 0
	shares := random.Int64N(3) + 1
	for i := range random.IntN(5) + 1 {
		d := randomDevice(random, i)
		// Telemetry that is up misses only what has vanished.
		d.known = !down && (d.quarantine == nil || random.IntN(4) > 0)
		d.units = w.units(&d.Device, shares)
		if d.MIG && random.IntN(6) == 0 {
			d.layoutKnown, d.Partitions = false, nil
		}
		w.devices = append(w.devices, d)
	}
	w.show(down)

	out := w.expected()
	if random.IntN(3) == 0 {
		out = random.UintN(w.all() + 1)
	}
	w.view.Capacity = w.unitsOf(w.all())
	w.view.Allocatable = w.view.Capacity - w.unitsOf(out)
	return w
}

func randomDevice(random *rand.Rand, index int) truth {
	grades := []v1alpha1.Grade{v1alpha1.GradeHealthy, v1alpha1.GradeHealthy, v1alpha1.GradeSuspect, v1alpha1.GradeDegraded, v1alpha1.GradeUnknown, v1alpha1.GradeFailed}
	d := truth{layoutKnown: true, Device: device(index, graded(grades[random.IntN(len(grades))]))}
	if random.IntN(2) == 0 {
		profiles := []string{"1g.10gb", "1g.10gb", "3g.40gb", "7g.80gb"}
		random.Shuffle(len(profiles), func(i, j int) { profiles[i], profiles[j] = profiles[j], profiles[i] })
		cut(profiles[:random.IntN(4)+1]...)(&d.Device)
	}
	d.VendorExcludes = d.Grade == v1alpha1.GradeFailed && random.IntN(2) == 0
	if random.IntN(4) == 0 {
		d.quarantine = &quarantine.Entry{UUID: d.UUID, Released: random.IntN(3) == 0, VendorExcludes: random.IntN(2) == 0}
	}
	return d
}

// units is what the device gives of the request's resource: its instances of the
// profile, or equally many shares of each device that is not split up by profile.
func (w *world) units(d *fleet.Device, shares int64) int64 {
	switch {
	case w.want.Kind == accelerator.KindMIG:
		return profileCount(d, w.want.Profile)
	case d.MIG && w.view.MixedMIG:
		return 0
	default:
		return shares
	}
}

// show fills in what telemetry and the API server tell.
func (w *world) show(down bool) {
	var known []fleet.Device
	for i := range w.devices {
		d := &w.devices[i]
		if d.known {
			known = append(known, d.Device)
		}
		if d.quarantine != nil {
			w.view.Quarantined = append(w.view.Quarantined, *d.quarantine)
		}
	}
	if !down {
		w.view.Node = node(known...)
	}
}

func (w *world) String() string {
	text := fmt.Sprintf("%d of %d %s left, mixed %t\n", w.view.Allocatable, w.view.Capacity, w.want.Resource, w.view.MixedMIG)
	for i := range w.devices {
		d := &w.devices[i]
		text += fmt.Sprintf("  %s %s units %d known %t layout %t MIG %t expected out %t quarantine %+v\n",
			d.UUID, d.Grade, d.units, d.known, d.layoutKnown, d.MIG, d.expectedOut(), d.quarantine)
	}
	return text
}

func TestCheckAgainstTheKubelet(t *testing.T) {
	const worlds = 50_000
	var passed, closed, opened int
	for seed := range uint64(worlds) {
		w := randomWorld(rand.New(rand.NewPCG(seed, 1)))
		unfit := Check(&w.view, w.want)
		switch {
		case unfit != nil:
			closed++
			if !w.mayServeUnfit() {
				t.Fatalf("seed %d: closed, although no unfit device serves the request: %v\n%s", seed, unfit, w)
			}
			if w.wellKnown() && w.unitsOf(w.expected()) == w.view.Capacity-w.view.Allocatable && !w.handsOutUnfit(w.expected()) {
				t.Fatalf("seed %d: closed, although every unfit device is proven to be out: %v\n%s", seed, unfit, w)
			}
		default:
			passed++
			for _, set := range w.possible() {
				if w.handsOutUnfit(set) {
					t.Fatalf("seed %d: passed, although with %b out the kubelet may hand out an unfit device\n%s", seed, set, w)
				}
			}
			if w.mayServeUnfit() {
				opened++
			}
		}
	}
	// A property that is never put to the test proves nothing.
	if min(passed, closed, opened) < worlds/100 {
		t.Errorf("of %d worlds %d passed, %d of them with an unfit device out, and %d were closed", worlds, passed, opened, closed)
	}
	t.Logf("of %d worlds %d passed, %d of them with an unfit device out, and %d were closed", worlds, passed, opened, closed)
}
