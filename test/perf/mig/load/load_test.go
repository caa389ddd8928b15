package load_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"wastenot.dev/test/perf/mig/fleet"
	"wastenot.dev/test/perf/mig/load"
)

func TestLoadIsWhatItSays(t *testing.T) {
	t.Parallel()
	const gpus, count = 50, 40_000
	for _, name := range fleet.Geometries() {
		g, _ := fleet.Named(name)
		for _, mix := range load.Mixes() {
			shares, err := load.Mix(mix, len(g.Profiles))
			if err != nil {
				t.Fatal(err)
			}
			const offered = 0.8
			arrivals := load.Arrivals(g, shares, gpus, offered, count, 7)
			work, seen, last := 0.0, make([]float64, len(shares)), 0.0
			for _, a := range arrivals {
				if a.At < last || a.Until < a.At {
					t.Fatalf("arrival %+v after %v", a, last)
				}
				last = a.At
				work += (a.Until - a.At) * float64(g.Profiles[a.Profile].Size)
				seen[a.Profile] += 1.0 / count
			}
			if got := work / last / float64(gpus*g.Size); math.Abs(got-offered) > 0.03 {
				t.Errorf("%s, %s: load %.3f, want %.3f", name, mix, got, offered)
			}
			for i := range shares {
				if math.Abs(seen[i]-shares[i]) > 0.01 {
					t.Errorf("%s, %s: shares %v, want %v", name, mix, seen, shares)
				}
			}
		}
	}
	if _, err := load.Mix("odd", 6); err == nil {
		t.Error("an unknown mix is known")
	}
}

func TestSeedDecides(t *testing.T) {
	t.Parallel()
	g, _ := fleet.Named("A30")
	arrivals := func(seed uint64) []load.Arrival { return load.Arrivals(g, []float64{0.2, 0.3, 0.5}, 4, 1, 20, seed) }
	if diff := cmp.Diff(arrivals(1), arrivals(1)); diff != "" {
		t.Error(diff)
	}
	if cmp.Equal(arrivals(1), arrivals(2)) {
		t.Error("two seeds give the same arrivals")
	}
}
