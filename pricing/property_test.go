package pricing

import (
	"fmt"
	"maps"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"wastenot.dev/internal/accelerator"
)

// anyNode draws a node: of any listed type or none, with labels that may lie.
func anyNode(random *rand.Rand, types []string) *corev1.Node {
	pick := func(from ...string) string { return from[random.IntN(len(from))] }
	node := nodeOf(pick(types...), pick("us-east-1", "eastus", "us-central1", "nowhere", ""))
	with(node, "nvidia.com/gpu.product", pick("NVIDIA-A100-SXM4-40GB", "NVIDIA-H100-80GB-HBM3-MIG-1g.10gb", "NVIDIA-L4-SHARED", "NVIDIA-B200", ""))
	with(node, "nvidia.com/gpu.replicas", pick("", "0", "1", "3", "7", "-2", "9223372036854775807"))
	with(node, "nvidia.com/gpu.sharing-strategy", pick("none", "time-slicing", "mps"))
	with(node, "nvidia.com/gpu.count", pick("", "1", "8", "x"))
	with(node, "nvidia.com/mig-1g.5gb.replicas", pick("", "1", "2"))
	offering(node, "nvidia.com/gpu", random.Int64()>>random.IntN(64))
	offering(node, "aws.amazon.com/neuron", random.Int64N(3))
	return offering(node, "aws.amazon.com/neuroncore", random.Int64N(9))
}

func anyWants(random *rand.Rand) []accelerator.Demand {
	classes := []string{
		"nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/mig-1g.5gb", "nvidia.com/mig-1g.5gb.shared", "nvidia.com/mig-3g.20gb",
		"aws.amazon.com/neuron", "aws.amazon.com/neuroncore", accelerator.ClassName("gpu.nvidia.com"), accelerator.ClassName("mig.nvidia.com"),
	}
	var wants []accelerator.Demand
	for range random.IntN(4) {
		count := random.Int64N(9)
		if random.IntN(10) == 0 {
			count = int64(random.Uint64())
		}
		wants = append(wants, want(classes[random.IntN(len(classes))], count))
	}
	return wants
}

func TestPricesHoldForAnything(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	types := append(slices.Sorted(maps.Keys(builtIn())), "metal", "on-prem", "")
	books := []*Book{Default(), parsed(t, rules), parsed(t, "builtIn: Ignore\nrules:\n- {instanceType: metal, perInstanceHour: 9223372036854.775807}\n")}
	var known int
	for range 20_000 {
		book := books[random.IntN(len(books))]
		options := make([]Option, random.IntN(4))
		var prices []Price
		for i := range options {
			options[i] = Option{anyNode(random, types), anyWants(random)}
			prices = append(prices, book.Hourly(options[i], noon))
			if prices[i].Known {
				known++
			}
			if message := brokenPrice(prices[i]); message != "" {
				t.Fatalf("%s: %+v of %v with %v", message, prices[i], options[i].Wants, options[i].Node.Labels)
			}
		}
		complete := random.IntN(4) > 0
		if message := brokenEstimate(book.Range(options, complete, noon), complete, prices); message != "" {
			t.Fatalf("%s: %+v of %+v", message, book.Range(options, complete, noon), prices)
		}
	}
	if known < 1000 {
		t.Errorf("only %d prices were known: the test does not look at much", known)
	}
}

// brokenPrice says what no price may be. Whoever asks for something that costs
// something pays something, where amounts are not below micro-units.
func brokenPrice(p Price) string {
	switch {
	case p.Micros < 0:
		return "negative"
	case p.Known && (p.Basis == BasisUnknown || p.Basis == "" || p.Confidence == ConfidenceNone || !p.Rate.Known):
		return "known, and does not say of what"
	case !p.Known && (p.Micros != 0 || p.Basis != BasisUnknown || p.Confidence != ConfidenceNone):
		return "unknown, and says something"
	case !p.Known && amountOr(p.Micros, p.Known) != "unknown":
		return "unknown, and written as an amount"
	}
	return ""
}

func brokenEstimate(e Estimate, complete bool, prices []Price) string {
	var known int
	for _, p := range prices {
		if !p.Known {
			continue
		}
		known++
		if p.Micros < e.MinMicros || (e.Known && p.Micros > e.MaxMicros) {
			return fmt.Sprintf("%d is out of the range", p.Micros)
		}
	}
	switch {
	case e.Known != (known > 0 && known == len(prices) && complete) || e.Partial != (known > 0 && !e.Known):
		return "known or partial is wrong"
	case e.MinMicros < 0 || e.MaxMicros < 0 || (!e.Known && e.MaxMicros != 0) || (known == 0 && e.MinMicros != 0):
		return "a bound is made up"
	case (known == 0) != (e.Confidence == ConfidenceNone):
		return "the confidence is wrong"
	}
	return ""
}

// TestPartsOfADeviceAreTheDevice: what the parts of a device cost together is what it
// costs, but for half a micro-unit of rounding for each.
func TestPartsOfADeviceAreTheDevice(t *testing.T) {
	layouts := []map[string]int64{
		{"1g.5gb": 7}, {"1g.10gb": 4}, {"2g.10gb": 3, "1g.5gb": 1}, {"3g.20gb": 2}, {"4g.20gb": 1, "2g.10gb": 1, "1g.5gb": 1}, {"7g.40gb": 1},
	}
	random := rand.New(rand.NewPCG(5, 6))
	for range 500 {
		micros := 1 + random.Int64N(200_000_000)
		devices := 1 + random.Int64N(16)
		replicas := 1 + random.Int64N(64)
		book := parsed(t, fmt.Sprintf("rules:\n- {instanceType: metal, perInstanceHour: %q, devices: %d}\n", Format(micros), devices))
		node := with(nodeOf("metal", ""), "nvidia.com/gpu.product", "NVIDIA-A100-SXM4-40GB")
		device := book.Hourly(Option{node, gpus(1)}, noon).Micros
		for _, layout := range layouts {
			var sum, parts int64
			for profile, count := range layout {
				p := book.Hourly(Option{node, []accelerator.Demand{want("nvidia.com/mig-"+profile, 1)}}, noon)
				sum, parts = sum+count*p.Micros, parts+count
			}
			if abs(sum-device) > (parts+1)/2+1 {
				t.Fatalf("%v cost %d and the device %d", layout, sum, device)
			}
		}
		sliced := with(node.DeepCopy(), "nvidia.com/gpu.replicas", strconv.FormatInt(replicas, 10))
		slices := book.Hourly(Option{sliced, []accelerator.Demand{want("nvidia.com/gpu.shared", replicas)}}, noon)
		if slices.Micros != device {
			t.Fatalf("all %d slices cost %d and the device %d", replicas, slices.Micros, device)
		}
	}
}

func abs(a int64) int64 { return max(a, -a) }

// TestMoreCostsMore: another unit never makes a pod cheaper, and all devices cost the
// instance exactly.
func TestMoreCostsMore(t *testing.T) {
	for instanceType, rows := range builtIn() {
		for _, row := range rows {
			node := nodeOf(instanceType, row.region)
			var before int64
			for count := int64(1); count <= row.devices && row.micros > 0; count++ {
				p := Default().Hourly(Option{node, gpus(count)}, noon)
				if !p.Known || p.Micros <= before {
					t.Errorf("%s: %d cost %+v, and one fewer %d", row.name, count, p, before)
				}
				before = p.Micros
			}
			if before != row.micros {
				t.Errorf("%s: all devices cost %d, want %d", row.name, before, row.micros)
			}
		}
	}
}

// TestRatioIsExact holds the arithmetic to math/big: the same value, or not known and
// then truly too large for 64 bits in one of the steps.
func TestRatioIsExact(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	draw := func() ratio { return ratio{random.Uint64() >> random.IntN(64), random.Uint64()>>random.IntN(63) | 1} }
	rat := func(r ratio) *big.Rat {
		return new(big.Rat).SetFrac(new(big.Int).SetUint64(r.numerator), new(big.Int).SetUint64(r.denominator))
	}
	var exact int
	for range 100_000 {
		a, b := draw(), draw()
		if product := a.times(b); product.known() {
			exact++
			if new(big.Rat).Mul(rat(a), rat(b)).Cmp(rat(product)) != 0 {
				t.Fatalf("%v x %v = %v", a, b, product)
			}
		}
		if sum := a.plus(b); sum.known() {
			exact++
			if new(big.Rat).Add(rat(a), rat(b)).Cmp(rat(sum)) != 0 {
				t.Fatalf("%v + %v = %v", a, b, sum)
			}
		}
		half := new(big.Rat).Add(rat(a), big.NewRat(1, 2))
		floor := new(big.Int).Quo(half.Num(), half.Denom())
		if got, ok := a.round(); ok != floor.IsInt64() || (ok && got != floor.Int64()) {
			t.Fatalf("%v is rounded to %d, %v; want %v", a, got, ok, floor)
		}
	}
	if exact < 50_000 {
		t.Errorf("only %d were computed: the test does not look at much", exact)
	}
}

func TestRatioEdges(t *testing.T) {
	unknown := map[string]ratio{
		"negative": ratioOf(-1, 1), "of nothing": ratioOf(1, 0), "of less": ratioOf(1, -1), "the zero value": {},
		"times unknown": whole.times(ratio{}), "plus unknown": whole.plus(ratio{}),
		"too large":       ratioOf(math.MaxInt64, 1).times(ratioOf(3, 1)),
		"too large a sum": ratio{math.MaxUint64, 1}.plus(whole),
		"too fine":        ratioOf(1, math.MaxInt64).times(ratioOf(1, 3)),
		"too fine a sum":  ratioOf(1, math.MaxInt64).plus(ratioOf(1, math.MaxInt64-1)),
	}
	for name, r := range unknown {
		if r.known() {
			t.Errorf("%s is %v, want not known", name, r)
		}
	}
	if got, ok := (ratio{1 << 63, 1}).round(); ok {
		t.Errorf("2^63 is rounded to %d, want not known", got)
	}
}

func TestRatioRoundsHalvesUp(t *testing.T) {
	for r, want := range map[ratio]int64{{1, 2}: 1, {3, 2}: 2, {5, 2}: 3, {1, 3}: 0, {2, 3}: 1, {499_999, 1_000_000}: 0, {0, 7}: 0} {
		if got, ok := r.round(); !ok || got != want {
			t.Errorf("%v is rounded to %d, %v; want %d", r, got, ok, want)
		}
	}
}
