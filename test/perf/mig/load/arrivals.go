package load

import (
	"math/rand/v2"

	"wastenot.dev/test/perf/mig/fleet"
)

// Arrival is one request.
type Arrival struct {
	// At and Until are when it comes and, if it is accepted, leaves, in mean lifetimes.
	At, Until float64
	// Profile is the index in Geometry.Profiles.
	Profile int
}

// Arrivals returns so many requests whose offered load is the given part of the memory
// slices of so many GPUs: as many arrive per lifetime as would take that part of them if
// all were accepted.
func Arrivals(g *fleet.Geometry, shares []float64, gpus int, offered float64, count int, seed uint64) []Arrival {
	random := rand.New(rand.NewPCG(seed, 0x317)) // #nosec G404 -- a replay must be repeatable
	rate := offered * float64(gpus*g.Size) / MeanSize(g, shares)
	arrivals := make([]Arrival, count)
	now := 0.0
	for i := range arrivals {
		now += random.ExpFloat64() / rate
		arrivals[i] = Arrival{At: now, Until: now + random.ExpFloat64(), Profile: draw(shares, random.Float64())}
	}
	return arrivals
}

// MeanSize is how many memory slices a request takes on average.
func MeanSize(g *fleet.Geometry, shares []float64) float64 {
	mean := 0.0
	for i, share := range shares {
		mean += share * float64(g.Profiles[i].Size)
	}
	return mean
}

func draw(shares []float64, at float64) int {
	for i, share := range shares {
		if at < share {
			return i
		}
		at -= share
	}
	return len(shares) - 1
}
