package packing

import (
	"fmt"
	"strings"
	"sync"

	"wastenot.dev/internal/accelerator"
)

// migCard is one size of a MIG-capable GPU. Its layout is made once, so that devices of
// the same card have the same one.
type migCard struct {
	// whole is the profile that takes all of the GPU; no other card has it.
	whole string
	// parts are the profiles and their places.
	parts []migProfile
	once  sync.Once
	// layout is nil if the tables contradict each other.
	layout *Layout
}

// migProfile is a MIG profile and where it may start.
type migProfile struct {
	name string
	// size is how many memory slices it takes, compute how many compute slices.
	size, compute uint64
	starts        []int
}

// migCards are the cards that accelerator.MIGShare knows. The places are those that
// `nvidia-smi mig -lgipp` prints and that NVIDIA's MIG User Guide has in "Getting Started
// with MIG" and the figures of "Supported MIG Profiles" (read 2026-12-01). Its output for
// the 40 GB and 80 GB A100, the H100 80GB, the H100 NVL and the A30 was compared; for the
// others the guide's figures have the same seven compute and eight memory slices. That
// the 1g of double memory takes two memory slices, at {0,2,4,6}, is in that output; 3g and
// 4g take half of the memory, so a 3g beside a 3g leaves a compute slice that nothing can
// use. The RTX PRO 6000 has four slices of both, as the A30.
var migCards = []*migCard{
	quarterCard("4g.24gb", 6, 12, 24),
	quarterCard("4g.96gb", 24, 48, 96),
	seventhCard("7g.40gb", [4]int{5, 10, 20, 40}),
	seventhCard("7g.80gb", [4]int{10, 20, 40, 80}),
	seventhCard("7g.94gb", [4]int{12, 24, 47, 94}),
	seventhCard("7g.96gb", [4]int{12, 24, 48, 96}),
	seventhCard("7g.141gb", [4]int{18, 35, 71, 141}),
	seventhCard("7g.144gb", [4]int{18, 36, 72, 144}),
	seventhCard("7g.180gb", [4]int{23, 45, 90, 180}),
	seventhCard("7g.186gb", [4]int{23, 47, 93, 186}, [4]int{24, 47, 95, 189}),
	seventhCard("7g.269gb", [4]int{34, 67, 135, 269}),
}

// MIG returns the layout of GPUs of the product, spelt as nvidia.com/gpu.product has it
// with suffixes or none: each MIG profile at each place where it may be created. Kind is
// the profile ("1g.5gb"), Name has the first memory slice too ("1g.5gb@0"), Milli is
// accelerator.MIGShare, rounded down. It is the same for every device of a card. It
// returns false for a product that has no MIG or whose size is not known.
func MIG(product string) (*Layout, bool) {
	for _, card := range migCards {
		if _, ok := accelerator.MIGShare(product, card.whole); ok {
			card.once.Do(func() { card.layout = card.lay(product) })
			return card.layout, card.layout != nil
		}
	}
	return nil, false
}

// What the parts of a GPU compete for. The engines for media are counted where a profile
// may have all of them; the optical flow accelerator is the one of the "+me" profiles, of
// which a GPU holds one.
const (
	counterCompute = "compute"
	counterMedia   = "media"
	counterOFA     = "ofa"
)

func (c *migCard) lay(product string) *Layout {
	whole := c.parts[len(c.parts)-1]
	counters := []Counter{{counterCompute, whole.compute}, {counterMedia, whole.compute}, {counterOFA, 1}}
	for slice := range int(whole.size) {
		counters = append(counters, Counter{memorySlice(slice), 1})
	}
	var specs []PartSpec
	for i := range c.parts {
		p := &c.parts[i]
		share, ok := accelerator.MIGShare(product, p.name)
		if !ok {
			return nil
		}
		for _, start := range p.starts {
			specs = append(specs, PartSpec{
				Kind: p.name, Name: fmt.Sprintf("%s@%d", p.name, start), Milli: int32(share.Micros() / 1000),
				Consumes: p.consumes(start, whole.compute),
			})
		}
	}
	layout, err := NewLayout(c.whole, counters, specs)
	if err != nil {
		return nil
	}
	return layout
}

// consumes is what the profile takes of the counters; all is how many media engines the
// GPU has, as profiles share them: one for each compute slice.
func (p *migProfile) consumes(start int, all uint64) map[string]uint64 {
	takes := map[string]uint64{counterCompute: p.compute, counterMedia: p.compute}
	switch {
	case p.compute == all || strings.HasSuffix(p.name, "+me.all"):
		takes[counterMedia], takes[counterOFA] = all, 1
	case strings.HasSuffix(p.name, "-me"):
		delete(takes, counterMedia)
	case strings.HasSuffix(p.name, "+me"):
		takes[counterOFA] = 1
	}
	for slice := range int(p.size) {
		takes[memorySlice(start+slice)] = 1
	}
	return takes
}

func memorySlice(i int) string { return fmt.Sprintf("memory%d", i) }

// seventhCard has seven compute and eight memory slices. A size is the memory of one,
// two, four and all eight memory slices in GB; a card has two if drivers report it in
// two ways.
func seventhCard(whole string, sizes ...[4]int) *migCard {
	c := &migCard{whole: whole}
	for _, gb := range sizes {
		c.parts = append(c.parts,
			migProfile{fmt.Sprintf("1g.%dgb", gb[0]), 1, 1, []int{0, 1, 2, 3, 4, 5, 6}},
			migProfile{fmt.Sprintf("1g.%dgb+me", gb[0]), 1, 1, []int{0, 1, 2, 3, 4, 5, 6}},
			migProfile{fmt.Sprintf("1g.%dgb", gb[1]), 2, 1, []int{0, 2, 4, 6}},
			migProfile{fmt.Sprintf("2g.%dgb", gb[1]), 2, 2, []int{0, 2, 4}},
			migProfile{fmt.Sprintf("3g.%dgb", gb[2]), 4, 3, []int{0, 4}},
			migProfile{fmt.Sprintf("4g.%dgb", gb[2]), 4, 4, []int{0}},
			migProfile{fmt.Sprintf("7g.%dgb", gb[3]), 8, 7, []int{0}},
		)
	}
	return c
}

// quarterCard has four slices of both, with the memory of one, two and all of them in GB.
// Not every card has every variant, which is of no harm, as no pod can ask for it.
func quarterCard(whole string, one, two, four int) *migCard {
	c := &migCard{whole: whole}
	for _, variant := range []string{"", "+me", "+gfx", "+me.all", "-me"} {
		c.parts = append(c.parts,
			migProfile{fmt.Sprintf("1g.%dgb%s", one, variant), 1, 1, []int{0, 1, 2, 3}},
			migProfile{fmt.Sprintf("2g.%dgb%s", two, variant), 2, 2, []int{0, 2}},
		)
	}
	c.parts = append(c.parts,
		migProfile{fmt.Sprintf("4g.%dgb+gfx", four), 4, 4, []int{0}},
		migProfile{fmt.Sprintf("4g.%dgb", four), 4, 4, []int{0}},
	)
	return c
}
