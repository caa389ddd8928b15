package policy

import (
	"fmt"
	"math"

	"wastenot.dev/placement/packing"
	"wastenot.dev/test/perf/timeslices/replay"
)

// kindReplica is the name of a replica.
const kindReplica = "nvidia.com/gpu.shared"

// halfLife is after how many requests what was learnt counts half.
const halfLife = 4096

// wastenot places pods by package packing, each GPU a node of its own. A GPU costs price
// thousandths of a device for each pod on it that is busy now.
type wastenot struct {
	*replay.GPUs

	price   int
	index   *packing.Index
	learner *packing.Learner
	layout  *packing.Layout
	byName  map[string]int
}

func newWastenot(price int) replay.Constructor {
	return func(g *replay.GPUs, _ uint64) replay.Policy {
		learner := packing.NewLearner(halfLife, nil)
		w := &wastenot{
			GPUs: g, price: price, learner: learner, index: packing.NewIndex(learner.Mix()),
			layout: packing.Divisible(kindReplica, packing.Whole), byName: map[string]int{},
		}
		for gpu := range g.Pods {
			w.byName[name(gpu)] = gpu
			w.Changed(gpu)
		}
		return w
	}
}

func name(gpu int) string { return fmt.Sprintf("gpu-%05d", gpu) }

// replica is a replica's share of a device, in thousandths, rounded down.
func (w *wastenot) replica() int { return packing.Whole / w.Replicas }

func (w *wastenot) Changed(gpu int) {
	free := packing.Whole - w.Pods[gpu]*w.replica()
	if w.Pods[gpu] >= w.Replicas {
		free = 0
	}
	w.index.Set(name(gpu), &packing.Node{Devices: []packing.Device{{
		Layout: w.layout, Free: uint64(free), Busy: int16(min(w.Busy[gpu]*w.price, math.MaxInt16)),
	}}})
}

func (w *wastenot) Place() (int, bool) {
	request := packing.Request{Kind: kindReplica, Count: 1, Milli: int32(w.replica())}
	w.learner.Observe(request)
	if w.learner.Due() {
		w.index.SetMix(w.learner.Mix())
	}
	best := w.index.Best(&request, 1, nil)
	if len(best) == 0 {
		return 0, false
	}
	return w.byName[best[0].Name], true
}
