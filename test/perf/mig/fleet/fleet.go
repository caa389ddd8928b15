package fleet

import (
	"fmt"
	"math/bits"
	"slices"
)

// Placement is one instance on one GPU.
type Placement struct {
	// GPU is the index of the GPU, Profile that in Geometry.Profiles, Start the first
	// memory slice.
	GPU, Profile, Start int
}

// Fleet is the GPUs as they are now.
type Fleet struct {
	*Geometry

	// PerNode is how many GPUs a node has; GPU i is on node i/PerNode.
	PerNode int
	gpus    []gpu
	used    int
}

type gpu struct {
	// taken has a bit for each memory slice, compute counts the slices that are taken.
	taken     uint8
	compute   int
	instances []Placement
}

// New returns an untouched fleet.
func New(g *Geometry, gpus, perNode int) *Fleet {
	return &Fleet{Geometry: g, PerNode: perNode, gpus: make([]gpu, gpus)}
}

// GPUs is how many GPUs there are, Used how many have an instance.
func (f *Fleet) GPUs() int { return len(f.gpus) }

// Used is how many GPUs have an instance.
func (f *Fleet) Used() int { return f.used }

// FreeSlices is how many memory slices of the GPU have no instance.
func (f *Fleet) FreeSlices(gpu int) int { return f.Size - bits.OnesCount8(f.gpus[gpu].taken) }

// Instances is how many instances the GPU has.
func (f *Fleet) Instances(gpu int) int { return len(f.gpus[gpu].instances) }

// Fits tells whether the placement can be made as the GPU is now; the places of a profile
// are not checked.
func (f *Fleet) Fits(p Placement) bool {
	g, profile := &f.gpus[p.GPU], &f.Profiles[p.Profile]
	return g.taken&profile.mask(p.Start) == 0 && g.compute+profile.Compute <= f.Compute
}

// Anywhere finds some place for the profile, looking at all of them.
func (f *Fleet) Anywhere(profile int) (Placement, bool) {
	for gpu := range f.gpus {
		for _, start := range f.Profiles[profile].Starts {
			if p := (Placement{gpu, profile, start}); f.Fits(p) {
				return p, true
			}
		}
	}
	return Placement{}, false
}

// Place makes the placement. The error says why it cannot be made.
func (f *Fleet) Place(p Placement) error {
	switch {
	case p.GPU < 0 || p.GPU >= len(f.gpus):
		return fmt.Errorf("there is no GPU %d", p.GPU)
	case p.Profile < 0 || p.Profile >= len(f.Profiles):
		return fmt.Errorf("there is no profile %d", p.Profile)
	case !slices.Contains(f.Profiles[p.Profile].Starts, p.Start):
		return fmt.Errorf("%s may not start at slice %d", f.Profiles[p.Profile].Name, p.Start)
	case !f.Fits(p):
		return fmt.Errorf("%s at slice %d of GPU %d: slices are taken", f.Profiles[p.Profile].Name, p.Start, p.GPU)
	}
	g := &f.gpus[p.GPU]
	if g.taken == 0 {
		f.used++
	}
	g.taken |= f.Profiles[p.Profile].mask(p.Start)
	g.compute += f.Profiles[p.Profile].Compute
	g.instances = append(g.instances, p)
	return nil
}

// Remove ends the instance. It is an error if there is none.
func (f *Fleet) Remove(p Placement) error {
	if p.GPU < 0 || p.GPU >= len(f.gpus) {
		return fmt.Errorf("there is no GPU %d", p.GPU)
	}
	g := &f.gpus[p.GPU]
	i := slices.Index(g.instances, p)
	if i < 0 {
		return fmt.Errorf("GPU %d has no such instance at slice %d", p.GPU, p.Start)
	}
	g.instances = slices.Delete(g.instances, i, i+1)
	g.taken &^= f.Profiles[p.Profile].mask(p.Start)
	g.compute -= f.Profiles[p.Profile].Compute
	if g.taken == 0 {
		f.used--
	}
	return nil
}
