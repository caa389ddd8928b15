package packing

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// followed is an index and the fleet that it should know.
type followed struct {
	world

	index *Index
	mix   *Mix
	nodes map[string]*Node
	// kinds are asked for again and again, so that rankings grow old.
	kinds []Request
}

func newFollowed(seed uint64) *followed {
	f := &followed{world: newWorld(seed), nodes: map[string]*Node{}}
	for range 8 {
		f.kinds = append(f.kinds, f.world.request())
	}
	f.mix = f.world.mix()
	f.index = NewIndex(f.mix)
	return f
}

func (f *followed) request() Request {
	if f.IntN(5) == 0 {
		return f.world.request()
	}
	return pick(f.world, f.kinds)
}

func (f *followed) names() []string {
	names := make([]string, 0, len(f.nodes))
	for name := range f.nodes {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// step changes the fleet: a node comes, comes again, goes, or has something taken or given.
func (f *followed) step() {
	name := fmt.Sprint("node-", f.IntN(12))
	switch f.IntN(10) {
	case 0:
		delete(f.nodes, name)
		f.index.Delete(name)
	case 1:
		f.mix = f.world.mix()
		f.index.SetMix(f.mix)
	case 2, 3:
		n := f.node()
		f.nodes[name] = &n
		f.index.Set(name, &n)
	default:
		n := f.nodes[name]
		if n == nil {
			return
		}
		r := f.request()
		if takes, _, ok := f.index.Choose(name, &r); ok {
			for _, take := range takes {
				if d := &n.Devices[take.Device]; take.Part < 0 {
					d.Free -= uint64(r.Milli)
				} else {
					d.Free, _ = d.Layout.Take(d.Free, take.Part)
				}
			}
			n.CPUMilli -= r.CPUMilli
			n.MemoryMiB -= r.MemoryMiB
		}
		f.index.Set(name, n)
	}
}

// afresh is an index that knows what this one does and has never heard of anything else.
// Both expect the same: what they foresee is made anew in both, but for what has been
// drawn or computed from it.
func afresh(x *Index, nodes map[string]*Node, names []string) *Index {
	x.foresee()
	fresh := NewIndex(x.mix)
	for _, name := range names {
		fresh.Set(name, nodes[name])
	}
	f := *x.forecast
	f.classes, f.tables, f.memo = map[string]*class{}, map[*Layout]*table{}, map[string]int64{}
	f.key, f.sorted, f.devices, f.options = nil, nil, nil, nil
	fresh.forecast, fresh.moved, fresh.enough = &f, 0, math.MaxInt64
	return fresh
}

// TestWhatFitsSomewhereIsPlaced: Best finds the nodes on which the request fits and no
// others, in the order of their costs, whatever has happened to the fleet before.
func TestWhatFitsSomewhereIsPlaced(t *testing.T) {
	t.Parallel()
	placed := 0
	for seed := range uint64(24) {
		f := newFollowed(seed)
		for range 60 {
			f.step()
			r := f.request()
			refused := fmt.Sprint("node-", f.IntN(12))
			accept := func(name string) bool { return name != refused }
			want := map[string]bool{}
			for name, n := range f.nodes {
				if n.Fits(&r) && accept(name) {
					want[name] = true
				}
			}
			best := f.index.Best(&r, len(want)+1, accept)
			got := map[string]bool{}
			for i, c := range best {
				got[c.Name] = true
				if i > 0 && c.less(best[i-1].Cost) {
					t.Fatalf("seed %d: %+v comes after %+v", seed, c, best[i-1])
				}
				if cost, ok := f.index.Cost(c.Name, &r); !ok || cost != c.Cost {
					t.Fatalf("seed %d: Cost says %+v, %t of %+v", seed, cost, ok, c)
				}
				takes, cost, ok := f.index.Choose(c.Name, &r)
				if !ok || cost != c.Cost {
					t.Fatalf("seed %d: Choose says %+v, %t of %+v", seed, cost, ok, c)
				}
				apply(t, clone(f.nodes[c.Name]), &r, takes)
				placed++
			}
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Fatalf("seed %d: %+v fits (-want +got):\n%s", seed, r, diff)
			}
			if _, ok := f.index.Cost(refused, &r); ok != (f.nodes[refused] != nil && f.nodes[refused].Fits(&r)) {
				t.Fatalf("seed %d: Cost of %s says %t", seed, refused, ok)
			}
			if best := f.index.Best(&r, 1, accept); len(best) != min(len(want), 1) {
				t.Fatalf("seed %d: the best one is %v of %d", seed, best, len(want))
			}
		}
	}
	if placed < 400 {
		t.Errorf("only %d were placed, which proves little", placed)
	}
}

// TestAnIndexForgetsHowItGotThere: one that followed changes answers as one that was built
// from what is there now, so nothing that it remembers matters.
func TestAnIndexForgetsHowItGotThere(t *testing.T) {
	t.Parallel()
	for seed := range uint64(16) {
		f := newFollowed(seed)
		for range 8 {
			for range 1 + f.IntN(40) {
				f.step()
				if f.IntN(3) == 0 { // Rankings that have seen different parts of it.
					r := f.request()
					f.index.Best(&r, 1, nil)
				}
			}
			names := f.names()
			f.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
			fresh := afresh(f.index, f.nodes, names)
			for range 6 {
				r := f.request()
				want := fresh.Best(&r, 100, nil)
				if diff := gocmp.Diff(want, f.index.Best(&r, 100, nil)); diff != "" {
					t.Fatalf("seed %d: %+v (-afresh +followed):\n%s", seed, r, diff)
				}
				for _, name := range names {
					takes, cost, ok := fresh.Choose(name, &r)
					gotTakes, gotCost, gotOK := f.index.Choose(name, &r)
					if !slices.Equal(takes, gotTakes) || cost != gotCost || ok != gotOK {
						t.Fatalf("seed %d: %s: %v %v, afresh %v %v", seed, name, gotTakes, gotCost, takes, cost)
					}
				}
			}
			if got := f.index.Node("node-0"); (got == nil) != (f.nodes["node-0"] == nil) || (got != nil && !got.equal(f.nodes["node-0"])) {
				t.Fatalf("seed %d: the index knows %+v, there is %+v", seed, got, f.nodes["node-0"])
			}
		}
	}
}

// TestEqualHistoriesGiveEqualAnswers: byte by byte, in two indexes that hear the same.
func TestEqualHistoriesGiveEqualAnswers(t *testing.T) {
	t.Parallel()
	for seed := range uint64(5) {
		a, b := newFollowed(seed), newFollowed(seed)
		for step := range 120 {
			a.step()
			b.step()
			r := a.request()
			if other := b.request(); r != other {
				t.Fatal("the test draws different requests")
			}
			if x, y := fmt.Sprintf("%+v", a.index.Best(&r, 20, nil)), fmt.Sprintf("%+v", b.index.Best(&r, 20, nil)); x != y {
				t.Fatalf("seed %d, step %d: %s and %s", seed, step, x, y)
			}
			for _, name := range a.names() {
				if x, y := fmt.Sprintf("%+v", a.index.Rank(name, &r)), fmt.Sprintf("%+v", b.index.Rank(name, &r)); x != y {
					t.Fatalf("seed %d, step %d: %s and %s", seed, step, x, y)
				}
			}
		}
	}
}

// few is a fleet that does not change the forecast: CPU is no room.
func few(index *Index, count int) map[string]*Node {
	nodes := map[string]*Node{}
	for i := range count {
		n := &Node{CPUMilli: 8000, MemoryMiB: 1 << 20, Devices: []Device{{Layout: wholeGPU, Free: Whole}, {Layout: wholeGPU, Free: Whole}}}
		name := fmt.Sprint("node-", i)
		nodes[name] = n
		index.Set(name, n)
	}
	return nodes
}

// TestALogThatWasCutLosesNothing: a ranking that was asked last just before, at or after
// the place where the log is cut later learns of what changed right after.
func TestALogThatWasCutLosesNothing(t *testing.T) {
	t.Parallel()
	for asked := 505; asked < 520; asked++ {
		for _, until := range []int{1020, 1024, 1025, 1026, 1537, 1538, 5000} {
			r := Request{Kind: "gpu", Count: 1, Milli: Whole, CPUMilli: 1000}
			index := NewIndex(NewMix([]Item{{r, 1}}))
			nodes := few(index, 3)
			changes := len(index.log)
			change := func(name string, cpu int64) {
				nodes[name].CPUMilli = cpu
				index.Set(name, nodes[name])
				changes++
			}
			for changes < asked {
				change("node-0", 20_000+int64(changes))
			}
			index.Best(&r, 1, nil)
			nodes["node-1"].Devices[0].Tier, nodes["node-1"].Devices[1].Tier = 1, 1
			change("node-1", 20_000)
			for changes < until {
				change("node-0", 20_000+int64(changes))
			}
			if most := max(4*len(nodes), 1024); len(index.log) > most {
				t.Fatalf("the log has %d entries, want %d at most", len(index.log), most)
			}
			fresh := afresh(index, nodes, []string{"node-0", "node-1", "node-2"})
			if diff := gocmp.Diff(fresh.Best(&r, 9, nil), index.Best(&r, 9, nil)); diff != "" {
				t.Fatalf("asked after %d of %d changes (-afresh +followed):\n%s", asked, until, diff)
			}
		}
	}
}

// TestOnlySoManyKindsAreRanked: the kind that was not asked for longest makes room, and is
// ranked again when it is.
func TestOnlySoManyKindsAreRanked(t *testing.T) {
	t.Parallel()
	kind := func(i int) *Request {
		return &Request{Kind: "gpu", Count: 1, Milli: Whole, Products: fmt.Sprintf("|%03d", i)}
	}
	index := NewIndex(NewMix([]Item{{*kind(0), 1}}))
	nodes := few(index, 2)
	for i := range rankingLimit {
		index.Best(kind(i), 1, nil)
	}
	index.Best(kind(0), 1, nil)
	index.Best(kind(rankingLimit), 1, nil)
	if len(index.rankings) != rankingLimit {
		t.Errorf("%d kinds are ranked, want %d", len(index.rankings), rankingLimit)
	}
	for i, want := range map[int]bool{0: true, 1: false, 2: true, rankingLimit: true} {
		if _, got := index.rankings[*kind(i)]; got != want {
			t.Errorf("kind %d is ranked: %t", i, got)
		}
	}
	nodes["node-1"].Product = "001"
	index.Set("node-1", nodes["node-1"])
	if got := index.Best(kind(1), 9, nil); len(got) != 2 {
		t.Errorf("a kind that came back has nodes %v, want both", got)
	}
}

// TestAnotherMixIsAnotherPrice: what is expected changes everywhere at once, also for what
// was asked before.
func TestAnotherMixIsAnotherPrice(t *testing.T) {
	t.Parallel()
	r := Request{Kind: "gpu", Count: 1, Milli: 500, CPUMilli: 1000}
	old, mix := NewMix([]Item{{kindOf("shared"), 1}}), NewMix([]Item{{r, 1}})
	index, fresh := NewIndex(old), NewIndex(mix)
	few(index, 3)
	few(fresh, 3)
	before := index.Best(&r, 9, nil)
	index.SetMix(mix)
	want := fresh.Best(&r, 9, nil)
	if diff := gocmp.Diff(want, index.Best(&r, 9, nil)); diff != "" || before[0].Price == want[0].Price {
		t.Errorf("before %+v (-afresh +followed):\n%s", before, diff)
	}
}

// TestANodeThatComesAgainIsRanked, also at the place of another that changed before it went.
func TestANodeThatComesAgainIsRanked(t *testing.T) {
	t.Parallel()
	r := Request{Kind: "gpu", Count: 1, Milli: Whole}
	index := NewIndex(NewMix([]Item{{r, 1}}))
	n := gpus(1000, 0)
	for _, name := range []string{"a", "b", "c"} {
		index.Set(name, &n)
	}
	index.Best(&r, 9, nil)
	index.enough = math.MaxInt64 // Or all would be ranked anew.
	changed := gpus(0, 0)
	index.Set("c", &changed)
	index.Delete("a")
	index.Delete("c")
	index.Set("a", &n)
	var got []string
	for _, c := range index.Best(&r, 9, nil) {
		got = append(got, c.Name)
	}
	if want := []string{"a", "b"}; !slices.Equal(got, want) {
		t.Errorf("ranked are %v, want %v", got, want)
	}
}

// TestNodesThatAreGoneTakeNoRoom: names come and go for ever where nodes are made on
// demand.
func TestNodesThatAreGoneTakeNoRoom(t *testing.T) {
	t.Parallel()
	r := Request{Kind: "gpu", Count: 1, Milli: Whole}
	index := NewIndex(NewMix([]Item{{r, 1}}))
	n := Node{Devices: []Device{{Layout: wholeGPU, Free: Whole}}}
	for i := range 500 {
		name := fmt.Sprint("node-", i)
		index.Set(name, &n)
		if got := index.Best(&r, 9, nil); len(got) != min(i+1, 3) || !slices.IsSortedFunc(got, func(a, b Candidate) int { return cmp.Compare(a.Name, b.Name) }) {
			t.Fatalf("after %s: %v", name, got)
		}
		if i >= 2 {
			index.Delete(fmt.Sprint("node-", i-2))
			index.Delete(fmt.Sprint("node-", i-2)) // It may be said twice.
		}
	}
	if len(index.nodes) > 3 || len(index.byName) > 3 {
		t.Errorf("3 nodes at a time leave %d and %d names", len(index.nodes), len(index.byName))
	}
}
