package packing

import "github.com/google/btree"

// ranking keeps the nodes that can take one kind of request in the order of their costs.
// It follows the index's log of changes, so that asking again costs what has changed.
type ranking struct {
	request Request
	tree    *btree.BTreeG[ranked]
	// entries has for each node what stands in the tree.
	entries []standing
	// read is up to where the log of changes is worked in, forecast for which one.
	read     int
	forecast *Forecast
	// used is when the ranking was last asked.
	used uint64
}

// ranked is a node in a ranking. Between equal costs the node with less room wins, so that
// nodes fill up one after the other, and then the name.
type ranked struct {
	cost Cost
	room int64
	name string
	node int32
}

func (a ranked) less(b ranked) bool {
	if a.cost != b.cost {
		return a.cost.less(b.cost)
	}
	if a.room != b.room {
		return a.room < b.room
	}
	if a.name != b.name {
		return a.name < b.name
	}
	// One that was deleted and has come again is here twice until both are worked in.
	return a.node < b.node
}

type standing struct {
	ranked

	in      bool
	version uint32
}

func newRanking(request Request) *ranking {
	const degree = 32
	return &ranking{request: request, tree: btree.NewG(degree, ranked.less)}
}

// follow works in what has changed since the ranking was last asked.
func (r *ranking) follow(x *Index) {
	if r.forecast != x.forecast || r.read < x.logStart {
		r.tree.Clear(true)
		r.entries = make([]standing, len(x.nodes))
		for i := range x.nodes {
			r.update(x, i)
		}
	} else {
		for _, i := range x.log[r.read-x.logStart:] {
			r.update(x, int(i))
		}
	}
	r.forecast, r.read = x.forecast, x.logStart+len(x.log)
}

func (r *ranking) update(x *Index, i int) {
	for len(r.entries) <= i {
		r.entries = append(r.entries, standing{})
	}
	node, old := x.nodes[i], &r.entries[i]
	if old.version == node.version {
		return
	}
	if old.in {
		r.tree.Delete(old.ranked)
	}
	*old = standing{version: node.version}
	if !node.live || !r.request.accepts(node.state.Product) {
		return
	}
	cost, ok := x.forecast.choose(&node.state, &r.request, node.worth(x.forecast), nil)
	if !ok {
		return
	}
	old.ranked, old.in = ranked{cost, node.state.room(), node.name, int32(i)}, true
	r.tree.ReplaceOrInsert(old.ranked)
}
