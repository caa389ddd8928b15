package packing

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// MaxItems is how many kinds of requests a Mix holds at most; the rarest are left out.
const MaxItems = 256

// Item is one kind of request and how often it is asked for, beside the others.
type Item struct {
	Request

	Weight int64
}

// Mix is what is asked for lately. It is immutable.
type Mix struct {
	// Items are sorted by weight, the most frequent first, and then by request, so that
	// equal mixes are equal to the last byte. Weights are positive.
	Items []Item
}

// NewMix returns the mix of the items: equal requests are added up, those without weight
// dropped, and only the MaxItems most frequent kept.
func NewMix(items []Item) *Mix {
	weights := map[Request]int64{}
	for _, item := range items {
		if item.Weight > 0 {
			known := weights[item.Request]
			weights[item.Request] = known + min(item.Weight, math.MaxInt64-known)
		}
	}
	return mixOf(weights)
}

func mixOf(weights map[Request]int64) *Mix {
	m := &Mix{Items: make([]Item, 0, len(weights))}
	for request, weight := range weights {
		m.Items = append(m.Items, Item{request, weight})
	}
	slices.SortFunc(m.Items, func(a, b Item) int {
		return cmp.Or(cmp.Compare(b.Weight, a.Weight), compareRequests(a.Request, b.Request))
	})
	m.Items = slices.Clip(m.Items[:min(len(m.Items), MaxItems)])
	return m
}

// observation is what one request counts when it arrives; halving it ten times makes it
// nothing.
const observation = 1 << 10

// Learner learns a mix from what arrives: old requests count less, by halves. It counts
// requests, not time, so that a quiet night does not forget the day. It is not safe for
// concurrent use.
type Learner struct {
	// halfLife is after how many requests what was counted counts half.
	halfLife int64
	weights  map[Request]int64
	sum      int64
	// since counts the requests since the last Mix, seen all that count.
	since, seen int64
}

// NewLearner returns a learner that starts from the seed, whose weights are counts of
// requests. halfLife is at least 1.
func NewLearner(halfLife int, seed *Mix) *Learner {
	l := &Learner{halfLife: max(int64(halfLife), 1), weights: map[Request]int64{}}
	if seed != nil {
		for _, item := range seed.Items {
			weight := min(item.Weight, l.halfLife) * observation
			l.weights[item.Request] += weight
			l.sum += weight
		}
	}
	return l
}

// Observe counts a request that has arrived. Ones without accelerators do not count:
// what they leave unused is no waste of accelerators.
func (l *Learner) Observe(r Request) {
	if r.Kind == "" {
		return
	}
	l.weights[r.Coarse()] += observation
	l.sum += observation
	l.since++
	l.seen++
	if l.sum >= 2*l.halfLife*observation {
		l.halve()
	}
}

func (l *Learner) halve() {
	l.sum = 0
	maps.DeleteFunc(l.weights, func(r Request, weight int64) bool {
		l.weights[r] = weight / 2
		l.sum += weight / 2
		return weight/2 == 0
	})
	l.seen /= 2
}

// Due tells whether enough has arrived since the last Mix to take another: half as much
// again as was known then.
func (l *Learner) Due() bool {
	const first, most = 20, 500
	return l.since >= min(max(l.seen/3, first), most)
}

// Mix returns what has been learnt.
func (l *Learner) Mix() *Mix {
	l.since = 0
	return mixOf(l.weights)
}
