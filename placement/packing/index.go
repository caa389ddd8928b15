package packing

import "slices"

// Limits of an index.
const (
	// rankingLimit is how many kinds of requests are ranked at a time, and entryLimit how
	// many nodes all rankings have together; at least rankingFloor kinds are ranked. The
	// one that was not asked for longest makes room.
	rankingLimit, rankingFloor = 256, 16
	entryLimit                 = 1 << 20
	// The forecast is made anew when more room has come or gone than this share (1/20) of
	// the room that there was, and at least this share (1/1000) of all that there could be.
	roomShare, capacityShare = 20, 1000
)

// Index knows the nodes of a fleet and ranks them for requests. It is not safe for
// concurrent use.
type Index struct {
	mix      *Mix
	forecast *Forecast

	nodes []*indexed
	// byName has the live ones.
	byName map[string]int
	// vacant are the places in nodes of those that were deleted.
	vacant []int
	// log has the nodes that changed, oldest first; logStart is the number of its first
	// entry.
	log      []int32
	logStart int

	rankings map[Request]*ranking
	clock    uint64

	// room is what all nodes have left, capacity what they would have untouched; moved is
	// how much room came and went since the forecast was made, and enough is how much makes
	// it stale.
	room, capacity, moved, enough int64
	// taken and given are how much room was taken and given back lately.
	taken, given int64
}

type indexed struct {
	name    string
	live    bool
	state   Node
	version uint32
	// value is state's in the forecast valuedBy.
	value    int64
	valuedBy *Forecast
}

func (n *indexed) worth(f *Forecast) int64 {
	if n.valuedBy != f {
		n.value, n.valuedBy = f.Value(&n.state), f
	}
	return n.value
}

// NewIndex returns an index without nodes that expects the mix.
func NewIndex(mix *Mix) *Index {
	return &Index{mix: mix, byName: map[string]int{}, rankings: map[Request]*ranking{}}
}

// SetMix changes what is expected. Every price changes with it, so it should be called
// when the mix has changed and not more often.
func (x *Index) SetMix(mix *Mix) {
	x.mix, x.forecast = mix, nil
}

// Set adds the node or brings it up to date, and tells whether anything changed. It keeps
// no reference to the devices' slice.
func (x *Index) Set(name string, node *Node) bool {
	i, known := x.byName[name]
	if !known {
		i = x.admit(name)
	}
	n := x.nodes[i]
	if n.live && n.state.equal(node) {
		return false
	}
	change := x.move(&n.state, node)
	if n.live {
		x.taken += max(-change, 0)
		x.given += max(change, 0)
	}
	n.state.Product, n.state.CPUMilli, n.state.MemoryMiB = node.Product, node.CPUMilli, node.MemoryMiB
	n.state.Devices = append(n.state.Devices[:0], node.Devices...)
	n.live = true
	x.changed(i)
	return true
}

// admit gives a new node a place.
func (x *Index) admit(name string) int {
	i := len(x.nodes)
	if last := len(x.vacant) - 1; last >= 0 {
		i, x.vacant = x.vacant[last], x.vacant[:last]
		x.nodes[i].name = name
	} else {
		x.nodes = append(x.nodes, &indexed{name: name})
	}
	x.byName[name] = i
	return i
}

// Delete removes the node.
func (x *Index) Delete(name string) {
	i, known := x.byName[name]
	if !known {
		return
	}
	x.move(&x.nodes[i].state, &Node{})
	x.nodes[i].live = false
	x.nodes[i].state = Node{}
	delete(x.byName, name)
	x.vacant = append(x.vacant, i)
	x.changed(i)
}

// Node returns the node as the index knows it, nil if it does not. It must not be changed
// and is good until the next Set.
func (x *Index) Node(name string) *Node {
	i, known := x.byName[name]
	if !known {
		return nil
	}
	return &x.nodes[i].state
}

func (x *Index) move(before, after *Node) int64 {
	difference := after.room() - before.room()
	x.room += difference
	x.capacity += after.capacity() - before.capacity()
	x.moved += max(difference, -difference)
	return difference
}

func (x *Index) changed(i int) {
	n := x.nodes[i]
	n.version++
	n.valuedBy = nil
	x.log = append(x.log, int32(i))
	// Rankings that have not been asked for so long start over.
	if limit := max(4*len(x.nodes), 1024); len(x.log) > limit {
		drop := len(x.log) / 2
		x.log = slices.Delete(x.log, 0, drop)
		x.logStart += drop
	}
}

// Candidate is a node for a request.
type Candidate struct {
	Name string
	Cost
}

// Best returns up to limit nodes that can take the request and that accept does not
// refuse, the best first; accept may be nil. It returns none only if no accepted node can
// take the request.
func (x *Index) Best(r *Request, limit int, accept func(name string) bool) []Candidate {
	var found []Candidate
	x.ranking(r).tree.Ascend(func(item ranked) bool {
		if x.nodes[item.node].state.Fits(r) && (accept == nil || accept(item.name)) {
			found = append(found, Candidate{item.name, item.cost})
		}
		return len(found) < limit
	})
	return found
}

// Cost returns what it costs to place the request on the node; false when it does not fit
// or the node is not known.
func (x *Index) Cost(name string, r *Request) (Cost, bool) {
	i, known := x.byName[name]
	if !known || !x.nodes[i].state.Fits(r) {
		return Cost{}, false
	}
	rank := x.ranking(r)
	return rank.entries[i].cost, rank.entries[i].in
}

// Choose returns the best place on the node for the request, and what it costs.
func (x *Index) Choose(name string, r *Request) ([]Take, Cost, bool) {
	i, known := x.byName[name]
	if !known || !x.nodes[i].state.Fits(r) {
		return nil, Cost{}, false
	}
	coarse := r.Coarse()
	x.foresee()
	takes := make([]Take, 0, max(r.Count, 0))
	cost, ok := x.forecast.choose(&x.nodes[i].state, &coarse, x.nodes[i].worth(x.forecast), &takes)
	return takes, cost, ok
}

// Rank returns the places on the node for one unit of the request, the best first, each
// with its reason; none when the node is not known or has too little for it.
func (x *Index) Rank(name string, r *Request) []Ranked {
	i, known := x.byName[name]
	if !known {
		return nil
	}
	x.foresee()
	return x.forecast.Rank(&x.nodes[i].state, r)
}

// ranking returns the ranking for requests of the kind, brought up to date.
func (x *Index) ranking(r *Request) *ranking {
	x.foresee()
	key := r.Coarse()
	rank, known := x.rankings[key]
	if !known {
		x.makeRoom()
		rank = newRanking(key)
		x.rankings[key] = rank
	}
	x.clock++
	rank.used = x.clock
	rank.follow(x)
	return rank
}

// makeRoom makes room for one more ranking.
func (x *Index) makeRoom() {
	limit := min(max(entryLimit/max(len(x.nodes), 1), rankingFloor), rankingLimit)
	for len(x.rankings) >= limit {
		var oldest *ranking
		for _, rank := range x.rankings {
			if oldest == nil || rank.used < oldest.used {
				oldest = rank
			}
		}
		delete(x.rankings, oldest.request)
	}
}

// foresee makes the forecast if there is none or if the fleet is not what it was then.
func (x *Index) foresee() {
	if x.forecast != nil && x.moved <= x.enough {
		return
	}
	places := make([]int64, len(x.mix.Items))
	for _, n := range x.nodes {
		if !n.live {
			continue
		}
		for i := range x.mix.Items {
			places[i] += n.state.copies(&x.mix.Items[i].Request)
		}
	}
	x.forecast = newForecast(x.mix, places, x.churn())
	x.moved, x.enough = 0, max(x.room/roomShare, x.capacity/capacityShare)
}

// churn is the share of the room that was taken lately that was given back, and halves
// what is known of it once it is more than the fleet has.
func (x *Index) churn() float64 {
	share := min(float64(x.given)/float64(max(x.taken, 1)), 1)
	if x.taken+x.given > x.capacity {
		x.taken, x.given = x.taken/2, x.given/2
	}
	return share
}
