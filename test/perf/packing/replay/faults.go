package replay

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

// Fault is one time during which a device is bad.
type Fault struct {
	// From and Until are arrivals, counted from 0: the device is bad when arrival From
	// comes and good again when arrival Until comes.
	From, Until int
	// Node and Device are indices in the cluster.
	Node, Device int
}

// faultStream sets the faults apart from what else is drawn with the same seed.
const faultStream = 0x6661756c74

// DrawFaults draws faults such that the share of all devices is bad at any moment, in the
// mean and from the first arrival on. Each lasts for a time of the given mean, in
// arrivals, and may be over before the last arrival or not.
func DrawFaults(c *Cluster, arrivals int, share, duration float64, seed uint64) []Fault {
	random := rand.New(rand.NewPCG(seed, faultStream))
	var faults []Fault
	for node := range c.Nodes {
		for device := range c.Nodes[node].FreeMilli {
			// A device is good for a time of mean healthy, then bad; it starts somewhere in it.
			healthy := duration * (1 - share) / share
			at := random.ExpFloat64() * healthy
			if random.Float64() < share {
				at = 0
			}
			for at < float64(arrivals) {
				until := at + max(random.ExpFloat64()*duration, 1)
				faults = append(faults, Fault{From: int(at), Until: int(until), Node: node, Device: device})
				at = until + max(random.ExpFloat64()*healthy, 1)
			}
		}
	}
	slices.SortStableFunc(faults, func(a, b Fault) int { return cmp.Compare(a.From, b.From) })
	return faults
}

// weather knows which devices are bad now, and shows it to a policy that avoids them: what
// a bad device has left is not there.
type weather struct {
	truth, shown *Cluster
	// hidden tells that the policy sees bad devices as good ones.
	hidden bool
	faults []Fault
	active []Fault
	bad    map[[2]int]bool
}

func newWeather(e *Experiment, truth, shown *Cluster) *weather {
	return &weather{truth: truth, shown: shown, hidden: e.Blind, faults: e.Faults, bad: map[[2]int]bool{}}
}

// turn lets faults begin and end before the arrival and returns the nodes on which
// something changed.
func (w *weather) turn(arrival int) []int {
	var changed []int
	w.active = slices.DeleteFunc(w.active, func(f Fault) bool {
		if f.Until > arrival {
			return false
		}
		delete(w.bad, [2]int{f.Node, f.Device})
		w.show(f.Node, f.Device)
		changed = append(changed, f.Node)
		return true
	})
	for len(w.faults) > 0 && w.faults[0].From <= arrival {
		f := w.faults[0]
		w.faults = w.faults[1:]
		if f.Until <= arrival {
			continue
		}
		w.active = append(w.active, f)
		w.bad[[2]int{f.Node, f.Device}] = true
		w.show(f.Node, f.Device)
		changed = append(changed, f.Node)
	}
	return changed
}

// show makes the policy see the device as it is to be seen.
func (w *weather) show(node, device int) {
	free := w.truth.Nodes[node].FreeMilli[device]
	if !w.hidden && w.bad[[2]int{node, device}] {
		free = 0
	}
	w.shown.Nodes[node].FreeMilli[device] = free
}

// seen is the node as a policy that avoids bad devices must see it.
func (w *weather) seen(node int) *Node {
	n := w.truth.Nodes[node]
	if w.hidden || len(w.bad) == 0 {
		return &n
	}
	n.FreeMilli = slices.Clone(n.FreeMilli)
	for device := range n.FreeMilli {
		if w.bad[[2]int{node, device}] {
			n.FreeMilli[device] = 0
		}
	}
	return &n
}

// onBad counts the devices of a placement that are bad now.
func (w *weather) onBad(node int, devices []int) int {
	count := 0
	for _, d := range devices {
		if w.bad[[2]int{node, d}] {
			count++
		}
	}
	return count
}

// healthy is what the devices that are good now have, and what of it is given out, in
// thousandths of a device.
func (w *weather) healthy(wholeMilli int64) (capacity, allocated int64) {
	for node := range w.truth.Nodes {
		for device, free := range w.truth.Nodes[node].FreeMilli {
			if !w.bad[[2]int{node, device}] {
				capacity += wholeMilli
				allocated += wholeMilli - free
			}
		}
	}
	return capacity, allocated
}
