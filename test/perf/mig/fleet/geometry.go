package fleet

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Profile is one kind of instance.
type Profile struct {
	Name string
	// Compute and Size are how many compute and memory slices an instance takes.
	Compute, Size int
	// Starts are the memory slices at which it may start, ascending.
	Starts []int
}

// mask has a bit for each memory slice of an instance that starts there.
func (p *Profile) mask(start int) uint8 { return uint8((1<<p.Size - 1) << start) }

// Geometry is one model of GPU.
type Geometry struct {
	Name string
	// Product is how a node's label spells it.
	Product string
	// Compute and Size are how many compute and memory slices a GPU has.
	Compute, Size int
	// Profiles are the kinds of instances, the smallest first.
	Profiles []Profile
}

// geometries are the models, by the name in -geometry. The starts are those that
// `nvidia-smi mig -lgipp` prints; profiles with media extensions are left out, as the
// published comparisons do.
var geometries = map[string]*Geometry{
	"A30": {
		Name: "A30", Product: "NVIDIA-A30", Compute: 4, Size: 4,
		Profiles: []Profile{{"1g.6gb", 1, 1, []int{0, 1, 2, 3}}, {"2g.12gb", 2, 2, []int{0, 2}}, {"4g.24gb", 4, 4, []int{0}}},
	},
	"A100": sevenths("A100", "NVIDIA-A100-SXM4-40GB", "1g.5gb", "1g.10gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"),
	"H100": sevenths("H100", "NVIDIA-H100-80GB-HBM3", "1g.10gb", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb"),
	"H200": sevenths("H200", "NVIDIA-H200", "1g.18gb", "1g.35gb", "2g.35gb", "3g.71gb", "4g.71gb", "7g.141gb"),
}

func sevenths(name, product string, profiles ...string) *Geometry {
	return &Geometry{Name: name, Product: product, Compute: 7, Size: 8, Profiles: []Profile{
		{profiles[0], 1, 1, []int{0, 1, 2, 3, 4, 5, 6}},
		{profiles[1], 1, 2, []int{0, 2, 4, 6}},
		{profiles[2], 2, 2, []int{0, 2, 4}},
		{profiles[3], 3, 4, []int{0, 4}},
		{profiles[4], 4, 4, []int{0}},
		{profiles[5], 7, 8, []int{0}},
	}}
}

// Geometries returns the names of all geometries, sorted.
func Geometries() []string { return slices.Sorted(maps.Keys(geometries)) }

// Named returns the geometry; the error of an unknown name lists the known ones.
func Named(name string) (*Geometry, error) {
	g, ok := geometries[name]
	if !ok {
		return nil, fmt.Errorf("unknown geometry %q: use one of %s", name, strings.Join(Geometries(), ", "))
	}
	return g, nil
}
