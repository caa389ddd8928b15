package packing

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// kindOf is a request of its own kind.
func kindOf(name string) Request { return Request{Kind: name, Count: 1, Milli: Whole} }

func TestNewMix(t *testing.T) {
	t.Parallel()
	a, b := kindOf("a"), kindOf("b")
	for name, test := range map[string]struct {
		items, want []Item
	}{
		"nothing":                   {nil, []Item{}},
		"the most frequent first":   {[]Item{{a, 1}, {b, 2}}, []Item{{b, 2}, {a, 1}}},
		"by request between equal":  {[]Item{{b, 1}, {a, 1}}, []Item{{a, 1}, {b, 1}}},
		"equal ones add up":         {[]Item{{a, 1}, {b, 2}, {a, 3}}, []Item{{a, 4}, {b, 2}}},
		"no more than there can be": {[]Item{{a, math.MaxInt64}, {a, 2}}, []Item{{a, math.MaxInt64}}},
		"no weight, no item":        {[]Item{{a, 0}, {b, -1}}, []Item{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, NewMix(test.items).Items); diff != "" {
				t.Errorf("items (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAMixHasOnlyTheMostFrequent(t *testing.T) {
	t.Parallel()
	var items []Item
	for i := range MaxItems + 50 {
		items = append(items, Item{kindOf(fmt.Sprintf("k-%03d", i)), int64(1 + i)})
	}
	got := NewMix(items).Items
	if len(got) != MaxItems || got[0].Weight != MaxItems+50 || got[MaxItems-1].Weight != 51 {
		t.Errorf("%d items, from %+v to %+v", len(got), got[0], got[len(got)-1])
	}
}

// TestAnOrderOfRequests: every field counts, or equal mixes would not be equal.
func TestAnOrderOfRequests(t *testing.T) {
	t.Parallel()
	base := kindOf("b")
	for name, change := range map[string]func(*Request){
		"kind":     func(r *Request) { r.Kind = "c" },
		"count":    func(r *Request) { r.Count++ },
		"milli":    func(r *Request) { r.Milli++ },
		"cpu":      func(r *Request) { r.CPUMilli++ },
		"memory":   func(r *Request) { r.MemoryMiB++ },
		"products": func(r *Request) { r.Products = "A" },
	} {
		other := base
		change(&other)
		if compareRequests(base, other) >= 0 || compareRequests(other, base) <= 0 || compareRequests(base, base) != 0 {
			t.Errorf("%s is not compared", name)
		}
	}
}

func TestLearnerHalves(t *testing.T) {
	t.Parallel()
	weights := func(l *Learner) map[string]int64 {
		got := map[string]int64{}
		for _, item := range l.Mix().Items {
			got[item.Kind] = item.Weight
		}
		return got
	}
	l := NewLearner(4, nil)
	observe := func(kind string, times int) {
		for range times {
			l.Observe(kindOf(kind))
		}
	}
	steps := []struct {
		kind  string
		times int
		want  map[string]int64
	}{
		{"", 100, map[string]int64{}},
		{"a", 7, map[string]int64{"a": 7 * observation}},
		{"b", 1, map[string]int64{"a": 7 * observation / 2, "b": observation / 2}}, // Twice the half-life: all halve.
		{"b", 3, map[string]int64{"a": 7 * observation / 2, "b": 7 * observation / 2}},
		{"b", 1, map[string]int64{"a": 7 * observation / 4, "b": 9 * observation / 4}},
	}
	for i, step := range steps {
		observe(step.kind, step.times)
		if diff := cmp.Diff(step.want, weights(l)); diff != "" {
			t.Fatalf("step %d (-want +got):\n%s", i, diff)
		}
	}
	// What is never asked for again is gone in the end: the learner keeps no kind for ever.
	observe("b", 200)
	if got := weights(l); got["a"] != 0 || len(l.weights) != 1 {
		t.Errorf("after 200 others it still knows %v", got)
	}
}

// TestLearnerKeepsNoKindForEver however many there are.
func TestLearnerKeepsNoKindForEver(t *testing.T) {
	t.Parallel()
	const halfLife = 50
	l := NewLearner(halfLife, nil)
	for i := range 20_000 {
		l.Observe(kindOf(fmt.Sprint("k-", i)))
		if most := 12 * halfLife; len(l.weights) > most {
			t.Fatalf("%d kinds after %d requests, want %d at most", len(l.weights), i+1, most)
		}
	}
}

func TestLearnerStartsFromTheSeed(t *testing.T) {
	t.Parallel()
	seed := NewMix([]Item{{kindOf("a"), 3}, {kindOf("b"), 1000}})
	got := NewLearner(10, seed).Mix().Items
	want := []Item{{kindOf("b"), 10 * observation}, {kindOf("a"), 3 * observation}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("a count above the half-life is the half-life (-want +got):\n%s", diff)
	}
	l := NewLearner(0, seed) // Counts as 1.
	for range 30 {
		l.Observe(kindOf("c"))
	}
	if got := l.Mix().Items; len(got) != 1 || got[0].Kind != "c" {
		t.Errorf("the seed is still there: %v", got)
	}
}

// TestDue: first after 20 requests, then after half as many as were known at the last time,
// and after 500 at the latest. Asking does not change the answer, Mix does.
func TestDue(t *testing.T) {
	t.Parallel()
	l := NewLearner(1<<20, nil)
	var got []int
	for i := 1; i <= 3000; i++ {
		l.Observe(kindOf("a"))
		l.Observe(Request{CPUMilli: 1}) // It does not count.
		first := l.Due()
		if again := l.Due(); again != first {
			t.Errorf("request %d: due %t, and when asked again %t", i, first, again)
		}
		if first {
			got = append(got, i)
			l.Mix()
		}
	}
	want := []int{20, 40, 60, 89, 133, 199, 298, 446, 668, 1001, 1501, 2001, 2501}
	if !slices.Equal(got, want) {
		t.Errorf("a mix is due at %v, want %v", got, want)
	}
}

// TestLearnerCountsKinds: pods that differ by a little are of one.
func TestLearnerCountsKinds(t *testing.T) {
	t.Parallel()
	l := NewLearner(100, nil)
	for cpu := range int64(100) {
		l.Observe(Request{Kind: "a", Count: 1, CPUMilli: 14336 + cpu, MemoryMiB: 1<<20 + cpu})
	}
	want := []Item{{Request{Kind: "a", Count: 1, CPUMilli: 14336, MemoryMiB: 1 << 20}, 100 * observation}}
	if diff := cmp.Diff(want, l.Mix().Items); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestLearntMixesAreEqual whatever the order of what is counted between two halvings.
func TestLearntMixesAreEqual(t *testing.T) {
	t.Parallel()
	w := newWorld(5)
	requests := make([]Request, 400)
	for i := range requests {
		requests[i] = w.request()
	}
	var want *Mix
	for range 5 {
		l := NewLearner(1000, nil)
		for _, r := range requests {
			l.Observe(r)
		}
		if want == nil {
			want = l.Mix()
		}
		if diff := cmp.Diff(want, l.Mix()); diff != "" {
			t.Fatal(diff)
		}
		w.Shuffle(len(requests), func(i, j int) { requests[i], requests[j] = requests[j], requests[i] })
	}
}

// TestCoarse: never more, at most an eighth less, and coarse already when done once.
func TestCoarse(t *testing.T) {
	t.Parallel()
	w := newWorld(6)
	amounts := []int64{math.MinInt64, -1, 0, 1, 15, 16, 17, math.MaxInt64}
	for range 20_000 {
		amounts = append(amounts, w.Int64()>>w.IntN(63))
	}
	for _, n := range amounts {
		got := Request{CPUMilli: n, MemoryMiB: n}.Coarse()
		if exact := max(n, 0); got.CPUMilli > exact || exact-got.CPUMilli > exact/8 || got.CPUMilli != got.MemoryMiB {
			t.Fatalf("%d becomes %+v", n, got)
		}
		if again := got.Coarse(); again != got {
			t.Fatalf("%d becomes %+v and then %+v", n, got, again)
		}
	}
	want := Request{Kind: "k", Count: 3, Milli: 333, Products: "A|B", CPUMilli: 15000, MemoryMiB: 15}
	want.CPUMilli = 14336 // 1110 and ten zeros.
	if diff := cmp.Diff(want, Request{Kind: "k", Count: 3, Milli: 333, Products: "A|B", CPUMilli: 15000, MemoryMiB: 15}.Coarse()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
