package packing

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// twin keeps the counters of a device as a person would.
type twin map[string]uint64

func (t twin) fits(p *PartSpec) bool {
	for counter, amount := range p.Consumes {
		if t[counter] < amount {
			return false
		}
	}
	return true
}

func (t twin) take(p *PartSpec) {
	for counter, amount := range p.Consumes {
		t[counter] -= amount
	}
}

func (t twin) give(p *PartSpec) {
	for counter, amount := range p.Consumes {
		t[counter] += amount
	}
}

// TestLayoutCountsAsMapsDo takes and gives parts of random layouts, beside a twin that
// has a map of counters.
func TestLayoutCountsAsMapsDo(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 3))
		counters, specs := randomSpecs(random)
		layout, err := NewLayout("random", counters, specs)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		left := twin{}
		for _, c := range counters {
			left[c.Name] = c.Value
		}
		free := layout.Full()
		var taken []int
		for step := range 200 {
			if len(taken) > 0 && random.IntN(3) == 0 {
				at := random.IntN(len(taken))
				free = layout.Give(free, taken[at])
				left.give(&specs[taken[at]])
				taken = slices.Delete(taken, at, at+1)
				continue
			}
			part := random.IntN(len(specs))
			after, ok := layout.Take(free, part)
			if want := left.fits(&specs[part]); ok != want {
				t.Fatalf("seed %d, step %d: taking %s of %v: %t, want %t", seed, step, specs[part].Name, left, ok, want)
			}
			if !ok {
				if after != free {
					t.Fatalf("seed %d, step %d: a part that does not fit took something", seed, step)
				}
				continue
			}
			free = after
			left.take(&specs[part])
			taken = append(taken, part)
		}
		for _, part := range taken {
			free = layout.Give(free, part)
		}
		if free != layout.Full() {
			t.Fatalf("seed %d: all given back leaves %x of %x", seed, free, layout.Full())
		}
	}
}

// randomSpecs draws counters that fit into a word, often to the last bit, and parts.
func randomSpecs(random *rand.Rand) ([]Counter, []PartSpec) {
	var counters []Counter
	for left := 64; left > 1; {
		width := 1 + random.IntN(min(left-1, 12)) // Beside the guard.
		if random.IntN(40) == 0 {
			width = left - 1
		}
		counters = append(counters, Counter{fmt.Sprint("c", len(counters)), 1<<(width-1) | random.Uint64N(1<<(width-1))})
		left -= width + 1
	}
	var specs []PartSpec
	for range 1 + random.IntN(12) {
		p := PartSpec{Kind: "k", Name: fmt.Sprint("p", len(specs)), Milli: 1, Consumes: map[string]uint64{}}
		for range 1 + random.IntN(4) {
			c := counters[random.IntN(len(counters))]
			p.Consumes[c.Name] = 1 + random.Uint64N(c.Value)
		}
		specs = append(specs, p)
	}
	return counters, specs
}

func TestLayoutErrorsNameTheCulprit(t *testing.T) {
	t.Parallel()
	memory := []Counter{{"memory", 8}}
	part := func(name string, consumes map[string]uint64) []PartSpec {
		return []PartSpec{{Kind: "k", Name: name, Milli: 1, Consumes: consumes}}
	}
	for name, test := range map[string]struct {
		counters []Counter
		parts    []PartSpec
		want     []string
	}{
		"all is well":                  {memory, part("p", map[string]uint64{"memory": 8}), nil},
		"64 bits exactly":              {[]Counter{{"a", 1<<31 - 1}, {"b", 1<<31 - 1}}, part("p", map[string]uint64{"a": 1, "b": 1<<31 - 1}), nil},
		"a counter twice":              {[]Counter{{"memory", 8}, {"memory", 4}}, part("p", map[string]uint64{"memory": 8}), []string{"counter memory is there twice"}},
		"a counter that is not there":  {memory, part("p", map[string]uint64{"compute": 1}), []string{"part p consumes compute, which is no counter of the device"}},
		"beside one that is":           {memory, part("p", map[string]uint64{"compute": 1, "memory": 1}), []string{"part p consumes compute, which is no counter of the device"}},
		"too much":                     {memory, part("p", map[string]uint64{"memory": 9}), []string{"part p consumes 9 of memory, the device has 8"}},
		"nothing":                      {memory, part("p", nil), []string{"part p consumes nothing"}},
		"nothing of something":         {memory, part("p", map[string]uint64{"memory": 0}), []string{"part p consumes nothing"}},
		"too many bits":                {[]Counter{{"a", 1 << 31}, {"b", 1<<31 - 1}}, nil, []string{"counters up to b take more than 64 bits: scale values by what all parts have in common"}},
		"too many bits in one":         {[]Counter{{"a", 1 << 63}}, nil, []string{"counters up to a take more than 64 bits: scale values by what all parts have in common"}},
		"all at once, always the same": {memory, part("p", map[string]uint64{"z": 1, "y": 1, "memory": 9}), []string{"part p consumes 9 of memory, the device has 8", "part p consumes y, which is no counter of the device", "part p consumes z, which is no counter of the device"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range 20 {
				layout, err := NewLayout("l", test.counters, test.parts)
				if (err == nil) != (test.want == nil) || (layout == nil) != (err != nil) {
					t.Fatalf("%v, %v, want %q", layout, err, test.want)
				}
				if err != nil && err.Error() != strings.Join(test.want, "\n") {
					t.Fatalf("error %q, want %q", err, test.want)
				}
			}
		})
	}
}

// TestLayoutWithoutParts: a device that offers nothing is not one that can be divided.
func TestLayoutWithoutParts(t *testing.T) {
	t.Parallel()
	layout, err := NewLayout("l", []Counter{{"memory", 8}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	n := Node{CPUMilli: 1, MemoryMiB: 1, Devices: []Device{{Layout: layout, Free: layout.Full()}}}
	if n.room() != 0 || layout.serves("") || n.Fits(&Request{Kind: "gpu", Count: 1, Milli: 1}) {
		t.Errorf("room %d, serves no name: %t", n.room(), layout.serves(""))
	}
}
