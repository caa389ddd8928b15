package accelerator

import (
	"fmt"
	"maps"
	"strings"
)

// Fraction is an exact part of one device, such as 1/7, in lowest terms.
type Fraction struct{ Numerator, Denominator int64 }

// one is a million, the number of millionths in a device.
const one = 1_000_000

// Micros is the fraction in millionths of a device, rounded down, so that parts of a
// device never add up to more than it. It is 0 for a fraction without a denominator.
func (f Fraction) Micros() int64 {
	if f.Denominator == 0 {
		return 0
	}
	return f.Numerator * one / f.Denominator
}

// less compares exactly; both denominators are positive and small.
func (f Fraction) less(g Fraction) bool {
	return f.Numerator*g.Denominator < g.Numerator*f.Denominator
}

// card is one size of one family of GPUs that can be partitioned.
type card struct {
	// words are what a product's name says of it, between hyphens and in any case;
	// all must be there.
	words []string
	// profiles are the parts of it, by profile.
	profiles map[string]Fraction
}

// cards are the GPUs with MIG, of which the first whose words a product has is meant.
// Sizes are those in the profiles' names. The profiles and how many of each a GPU holds
// are those of NVIDIA's MIG User Guide ("Supported MIG Profiles") and, for what it leaves
// out, of the default configuration of github.com/NVIDIA/mig-parted; read 2026-11-30.
// A product whose name does not say how much memory it has is not guessed.
var cards = []card{
	{words: []string{"A30"}, profiles: quarters(6, 12, 24)},
	{words: []string{"A100", "40GB"}, profiles: sevenths(5, 10, 20, 40)},
	{words: []string{"A100", "80GB"}, profiles: sevenths(10, 20, 40, 80)},
	{words: []string{"A800", "40GB"}, profiles: sevenths(5, 10, 20, 40)},
	{words: []string{"A800", "80GB"}, profiles: sevenths(10, 20, 40, 80)},
	{words: []string{"H100", "80GB"}, profiles: sevenths(10, 20, 40, 80)},
	{words: []string{"H800", "80GB"}, profiles: sevenths(10, 20, 40, 80)},
	{words: []string{"H100", "94GB"}, profiles: sevenths(12, 24, 47, 94)},
	{words: []string{"H100", "96GB"}, profiles: sevenths(12, 24, 48, 96)},
	{words: []string{"H100", "NVL"}, profiles: sevenths(12, 24, 47, 94)},
	{words: []string{"H800", "NVL"}, profiles: sevenths(12, 24, 47, 94)},
	{words: []string{"H100", "PCIe"}, profiles: sevenths(10, 20, 40, 80)},
	{words: []string{"H800", "PCIe"}, profiles: sevenths(10, 20, 40, 80)},
	{words: []string{"H20"}, profiles: sevenths(12, 24, 48, 96)},
	// The 480 GB are the memory of its CPU.
	{words: []string{"GH200", "480GB"}, profiles: sevenths(12, 24, 48, 96)},
	{words: []string{"GH200", "144G"}, profiles: sevenths(18, 36, 72, 144)},
	{words: []string{"H200"}, profiles: sevenths(18, 35, 71, 141)},
	{words: []string{"B200"}, profiles: sevenths(23, 45, 90, 180)},
	// Drivers report its memory as 186 or 189 GB and name the profiles after it.
	{words: []string{"GB200"}, profiles: both(sevenths(23, 47, 93, 186), sevenths(24, 47, 95, 189))},
	{words: []string{"B300"}, profiles: sevenths(34, 67, 135, 269)},
	{words: []string{"RTX", "PRO", "6000"}, profiles: quarters(24, 48, 96)},
}

// maxShares is the greatest part that each profile is of any card.
var maxShares = func() map[string]Fraction {
	shares := map[string]Fraction{}
	for _, card := range cards {
		for profile, share := range card.profiles {
			if shares[profile].Denominator == 0 || shares[profile].less(share) {
				shares[profile] = share
			}
		}
	}
	return shares
}()

// StripProduct returns the product that a label such as nvidia.com/gpu.product names,
// without what GPU feature discovery appends where devices are partitioned or shared:
// NVIDIA-H100-NVL for NVIDIA-H100-NVL-MIG-1g.12gb-SHARED.
func StripProduct(label string) string {
	product, _, _ := splitProduct(label)
	return product
}

// ProductProfile returns the MIG profile of which a product label says that all the
// node's devices are split into it, as the strategy "single" has it, or "". Such a node
// offers the instances as nvidia.com/gpu.
func ProductProfile(label string) string {
	_, profile, _ := splitProduct(label)
	return profile
}

// ProductShared tells whether a product label says that devices are replicated.
func ProductShared(label string) bool {
	_, _, shared := splitProduct(label)
	return shared
}

func splitProduct(label string) (product, profile string, shared bool) {
	product, shared = strings.CutSuffix(label, "-SHARED")
	product, profile, _ = strings.Cut(product, "-MIG-")
	// A label cannot hold the "+" of an attribute.
	return product, strings.Replace(profile, "gb.", "gb+", 1), shared
}

// MIGShare returns the part of one device that an instance of the MIG profile is: the
// greater of its compute and its memory. The product is spelt as nvidia.com/gpu.product
// has it, suffixes or none. It returns false for a product that is not known and for a
// profile that the product does not have.
func MIGShare(product, profile string) (Fraction, bool) {
	product = StripProduct(product)
	for i := range cards {
		if cards[i].is(product) {
			share, ok := cards[i].profiles[profile]
			return share, ok
		}
	}
	return Fraction{}, false
}

// MaxMIGShare returns the greatest part that the MIG profile is of a device of any
// product, for when the product is not known; false if no product has it.
func MaxMIGShare(profile string) (Fraction, bool) {
	share, ok := maxShares[profile]
	return share, ok
}

// is tells whether all the card's words are in the product's name.
func (c *card) is(product string) bool {
	for _, word := range c.words {
		if !hasWord(product, word) {
			return false
		}
	}
	return true
}

func hasWord(product, word string) bool {
	for part := range strings.SplitSeq(product, "-") {
		if strings.EqualFold(part, word) {
			return true
		}
	}
	return false
}

// sevenths are the profiles of a GPU that has seven compute and eight memory slices,
// with the sizes of one, two, four and all eight memory slices in GB. A part is the
// greater of its compute and its memory, which is what it keeps from others: 3g takes
// half of the memory. The guide prints an eighth of the memory for the 1g of double
// size, of which only four fit; it takes two slices.
func sevenths(one, two, four, eight int) map[string]Fraction {
	return map[string]Fraction{
		fmt.Sprintf("1g.%dgb", one):    {1, 7},
		fmt.Sprintf("1g.%dgb+me", one): {1, 7},
		fmt.Sprintf("1g.%dgb", two):    {1, 4},
		fmt.Sprintf("2g.%dgb", two):    {2, 7},
		fmt.Sprintf("3g.%dgb", four):   {1, 2},
		fmt.Sprintf("4g.%dgb", four):   {4, 7},
		fmt.Sprintf("7g.%dgb", eight):  {1, 1},
	}
}

// quarters are the profiles of a GPU that has four slices of both, with the sizes of one,
// two and all four in GB. The variants differ in media and graphics engines only; those
// that a card does not have are of no harm, as no pod can ask for them.
func quarters(one, two, four int) map[string]Fraction {
	profiles := map[string]Fraction{}
	for _, variant := range []string{"", "+me", "+gfx", "+me.all", "-me"} {
		profiles[fmt.Sprintf("1g.%dgb%s", one, variant)] = Fraction{1, 4}
		profiles[fmt.Sprintf("2g.%dgb%s", two, variant)] = Fraction{1, 2}
	}
	profiles[fmt.Sprintf("4g.%dgb", four)] = Fraction{1, 1}
	profiles[fmt.Sprintf("4g.%dgb+gfx", four)] = Fraction{1, 1}
	return profiles
}

// both joins the profiles of two spellings of one card.
func both(a, b map[string]Fraction) map[string]Fraction {
	maps.Copy(a, b)
	return a
}
