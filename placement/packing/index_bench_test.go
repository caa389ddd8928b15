package packing

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// BenchmarkDecision places a pod on a fleet of nodes with 8 devices that is 80 % full, and
// takes the oldest away, so that the fleet stays as full: from a warm index, and by best
// fit over all nodes as the baseline. It counts what the index does on account of changes,
// new forecasts among it.
func BenchmarkDecision(b *testing.B) {
	for _, nodes := range []int{100, 1_000, 5_000, 20_000} {
		b.Run(fmt.Sprintf("index/nodes=%d", nodes), func(b *testing.B) {
			f := newBenchFleet(nodes)
			index := f.index()
			place := func(r *Request) int {
				best := index.Best(r, 1, nil)
				if len(best) == 0 {
					return -1
				}
				return f.byName[best[0].Name]
			}
			f.run(b, place, func(i int) { index.Set(f.names[i], &f.nodes[i]) })
		})
		b.Run(fmt.Sprintf("bestfit/nodes=%d", nodes), func(b *testing.B) {
			f := newBenchFleet(nodes)
			f.run(b, f.bestFit, func(int) {})
		})
	}
}

// benchFleet is a fleet with what runs on it.
type benchFleet struct {
	names  []string
	byName map[string]int
	nodes  []Node
	mix    *Mix
	random *rand.Rand
	// running are the placements, oldest first.
	running []benchPod
}

type benchPod struct {
	node    int
	request Request
	devices []int
}

var benchLayout = Divisible("gpu", Whole)

func newBenchFleet(nodes int) *benchFleet {
	f := &benchFleet{byName: map[string]int{}, random: rand.New(rand.NewPCG(1, 1))}
	for i := range nodes {
		node := Node{Product: "H100", CPUMilli: 192_000, MemoryMiB: 2 << 20}
		for range 8 {
			node.Devices = append(node.Devices, Device{Layout: benchLayout, Free: Whole})
		}
		name := fmt.Sprintf("node-%05d", i)
		f.names, f.nodes = append(f.names, name), append(f.nodes, node)
		f.byName[name] = i
	}
	var items []Item
	for i, size := range []struct{ count, milli int32 }{{1, Whole}, {1, Whole}, {1, Whole}, {1, 500}, {1, 250}, {1, 800}, {2, Whole}, {4, Whole}, {8, Whole}} {
		for _, cpu := range []int64{4_000, 8_000, 16_000} {
			items = append(items, Item{Weight: int64(100 / (i + 1)), Request: Request{Kind: "gpu", Count: size.count, Milli: size.milli, CPUMilli: cpu, MemoryMiB: cpu * 8}.Coarse()})
		}
	}
	f.mix = NewMix(items)
	// Fill it by best fit of what there is, node by node, to 80 %.
	for i := range nodes * 8 / 10 {
		for {
			r := f.draw()
			if !f.nodes[i].Fits(&r) {
				break
			}
			f.put(i, r)
		}
	}
	f.random.Shuffle(len(f.running), func(i, j int) { f.running[i], f.running[j] = f.running[j], f.running[i] })
	return f
}

func (f *benchFleet) index() *Index {
	index := NewIndex(f.mix)
	for i := range f.nodes {
		index.Set(f.names[i], &f.nodes[i])
	}
	for i := range f.mix.Items {
		index.Best(&f.mix.Items[i].Request, 1, nil)
	}
	return index
}

func (f *benchFleet) draw() Request {
	var sum int64
	for _, item := range f.mix.Items {
		sum += item.Weight
	}
	at := f.random.Int64N(sum)
	for _, item := range f.mix.Items {
		if at -= item.Weight; at < 0 {
			return item.Request
		}
	}
	panic("weights do not add up")
}

// put places the request on the node, on the devices that it fills best.
func (f *benchFleet) put(node int, r Request) {
	n := &f.nodes[node]
	pod := benchPod{node: node, request: r}
	for range r.Count {
		best := -1
		for d := range n.Devices {
			if free := n.Devices[d].Free; free >= uint64(r.Milli) && (best < 0 || free < n.Devices[best].Free) {
				best = d
			}
		}
		n.Devices[best].Free -= uint64(r.Milli)
		pod.devices = append(pod.devices, best)
	}
	n.CPUMilli -= r.CPUMilli
	n.MemoryMiB -= r.MemoryMiB
	f.running = append(f.running, pod)
}

func (f *benchFleet) endOldest() int {
	pod := f.running[0]
	f.running = f.running[1:]
	n := &f.nodes[pod.node]
	for _, d := range pod.devices {
		n.Devices[d].Free += uint64(pod.request.Milli)
	}
	n.CPUMilli += pod.request.CPUMilli
	n.MemoryMiB += pod.request.MemoryMiB
	return pod.node
}

// bestFit is the node that fits with the least devices free.
func (f *benchFleet) bestFit(r *Request) int {
	best, bestRoom := -1, int64(0)
	for i := range f.nodes {
		if n := &f.nodes[i]; n.Fits(r) {
			if room := n.room(); best < 0 || room < bestRoom {
				best, bestRoom = i, room
			}
		}
	}
	return best
}

// run measures decisions with what follows from them.
func (f *benchFleet) run(b *testing.B, place func(*Request) int, changed func(node int)) {
	b.ReportAllocs()
	for b.Loop() {
		r := f.draw()
		node := place(&r)
		if node >= 0 {
			f.put(node, r)
			changed(node)
		}
		if len(f.running) > 0 {
			changed(f.endOldest())
		}
	}
}
