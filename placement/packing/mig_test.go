package packing_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	resourceapi "k8s.io/api/resource/v1"
	"sigs.k8s.io/yaml"

	"wastenot.dev/internal/accelerator"
	"wastenot.dev/placement/packing"
)

// products has a product of each family.
var products = map[string]struct{ one, whole string }{
	"NVIDIA-A30":                       {"1g.6gb", "4g.24gb"},
	"NVIDIA-A100-SXM4-40GB":            {"1g.5gb", "7g.40gb"},
	"NVIDIA-A100-SXM4-80GB":            {"1g.10gb", "7g.80gb"},
	"NVIDIA-A800-SXM4-80GB":            {"1g.10gb", "7g.80gb"},
	"NVIDIA-H100-80GB-HBM3":            {"1g.10gb", "7g.80gb"},
	"NVIDIA-H100-PCIe":                 {"1g.10gb", "7g.80gb"},
	"NVIDIA-H100-NVL":                  {"1g.12gb", "7g.94gb"},
	"NVIDIA-H20":                       {"1g.12gb", "7g.96gb"},
	"NVIDIA-GH200-480GB":               {"1g.12gb", "7g.96gb"},
	"NVIDIA-GH200-144G-HBM3e":          {"1g.18gb", "7g.144gb"},
	"NVIDIA-H200":                      {"1g.18gb", "7g.141gb"},
	"NVIDIA-B200":                      {"1g.23gb", "7g.180gb"},
	"NVIDIA-GB200":                     {"1g.24gb", "7g.189gb"},
	"NVIDIA-B300-SXM6-AC":              {"1g.34gb", "7g.269gb"},
	"NVIDIA-RTX-PRO-6000-Blackwell":    {"1g.24gb", "4g.96gb"},
	"NVIDIA-A100-SXM4-40GB-MIG-1g.5gb": {"1g.5gb", "7g.40gb"},
}

func mig(t *testing.T, product string) *packing.Layout {
	t.Helper()
	layout, ok := packing.MIG(product)
	if !ok {
		t.Fatalf("%s has no layout", product)
	}
	return layout
}

func TestMIGKnowsEveryProduct(t *testing.T) {
	t.Parallel()
	for product, want := range products {
		layout := mig(t, product)
		if again, _ := packing.MIG(product + "-SHARED"); again != layout {
			t.Errorf("%s: another layout the second time", product)
		}
		kinds := map[string]bool{}
		for _, part := range layout.Parts() {
			kinds[part.Kind] = true
			share, ok := accelerator.MIGShare(product, part.Kind)
			if want := int32(1000 * share.Numerator / max(share.Denominator, 1)); !ok || part.Milli != want {
				t.Errorf("%s: %s is %d thousandths, want %d (%v)", product, part.Name, part.Milli, want, ok)
			}
		}
		if !kinds[want.one] || !kinds[want.whole] {
			t.Errorf("%s: kinds %v", product, kinds)
		}
	}
	for _, product := range []string{"", "Tesla-T4", "NVIDIA-A100", "NVIDIA-L40S"} {
		if _, ok := packing.MIG(product); ok {
			t.Errorf("%s has a layout", product)
		}
	}
	// Cards with the same name for another part do not share a layout.
	if mig(t, "NVIDIA-A100-SXM4-40GB") == mig(t, "NVIDIA-A100-SXM4-80GB") {
		t.Error("both sizes of the A100 have one layout")
	}
}

// What nvidia-smi mig -lgipp prints, spelt out anew.
func TestMIGPlaces(t *testing.T) {
	t.Parallel()
	tests := map[string]map[string]string{
		"NVIDIA-A30": {"1g.6gb": "0123", "1g.6gb+me": "0123", "2g.12gb": "02", "2g.12gb+me": "02", "4g.24gb": "0"},
		"NVIDIA-A100-SXM4-40GB": {
			"1g.5gb": "0123456", "1g.5gb+me": "0123456", "1g.10gb": "0246", "2g.10gb": "024", "3g.20gb": "04", "4g.20gb": "0", "7g.40gb": "0",
		},
		"NVIDIA-H200": {
			"1g.18gb": "0123456", "1g.18gb+me": "0123456", "1g.35gb": "0246", "2g.35gb": "024", "3g.71gb": "04", "4g.71gb": "0", "7g.141gb": "0",
		},
	}
	for product, want := range tests {
		got := map[string]string{}
		for _, part := range mig(t, product).Parts() {
			if _, asked := want[part.Kind]; asked {
				_, start, _ := strings.Cut(part.Name, "@")
				got[part.Kind] += start
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", product, diff)
		}
	}
}

// fill takes the parts one after the other and tells whether all fit.
func fill(t *testing.T, layout *packing.Layout, names string) bool {
	t.Helper()
	free := layout.Full()
	for name := range strings.FieldsSeq(names) {
		part := -1
		for i := range layout.Parts() {
			if layout.Parts()[i].Name == name {
				part = i
			}
		}
		if part < 0 {
			t.Fatalf("no part %s", name)
		}
		after, ok := layout.Take(free, part)
		if !ok {
			return false
		}
		if layout.Give(after, part) != free {
			t.Errorf("%s given back leaves something else", name)
		}
		free = after
	}
	return true
}

func TestMIGConfigurations(t *testing.T) {
	t.Parallel()
	const a30, a100, pro = "NVIDIA-A30", "NVIDIA-A100-SXM4-40GB", "NVIDIA-RTX-PRO-6000-Blackwell"
	tests := map[string]struct {
		product, parts string
		want           bool
	}{
		"seven 1g":               {a100, "1g.5gb@0 1g.5gb@1 1g.5gb@2 1g.5gb@3 1g.5gb@4 1g.5gb@5 1g.5gb@6", true},
		"3g 3g":                  {a100, "3g.20gb@0 3g.20gb@4", true},
		"4g 3g":                  {a100, "4g.20gb@0 3g.20gb@4", true},
		"2g 2g 3g":               {a100, "2g.10gb@0 2g.10gb@2 3g.20gb@4", true},
		"2g 2g 2g 1g":            {a100, "2g.10gb@0 2g.10gb@2 2g.10gb@4 1g.5gb@6", true},
		"four 1g of two slices":  {a100, "1g.10gb@0 1g.10gb@2 1g.10gb@4 1g.10gb@6", true},
		"4g 2g 1g":               {a100, "4g.20gb@0 2g.10gb@4 1g.5gb@6", true},
		"3g 3g 1g":               {a100, "3g.20gb@0 3g.20gb@4 1g.5gb@6", false},
		"3g 2g 2g 1g":            {a100, "3g.20gb@4 2g.10gb@0 2g.10gb@2 1g.5gb@6", false},
		"4g behind a 1g":         {a100, "1g.5gb@0 4g.20gb@0", false},
		"7g beside a 1g":         {a100, "7g.40gb@0 1g.5gb@6", false},
		"two 4g":                 {a100, "4g.20gb@0 4g.20gb@0", false},
		"4g 1g of two slices x2": {a100, "4g.20gb@0 1g.10gb@4 1g.10gb@6", true},
		"two with media":         {a100, "1g.5gb+me@0 1g.5gb+me@1", false},
		"four 1g":                {a30, "1g.6gb@0 1g.6gb@1 1g.6gb@2 1g.6gb@3", true},
		"2g 1g 1g":               {a30, "2g.12gb@2 1g.6gb@0 1g.6gb@1", true},
		"2g over 1g":             {a30, "1g.6gb@3 2g.12gb@2", false},
		"4g beside a 1g of four": {a30, "4g.24gb@0 1g.6gb@0", false},
		"one media each":         {a30, "1g.6gb+me@0 2g.12gb+me@2", false},
		"all media, others none": {pro, "1g.24gb+me.all@0 1g.24gb-me@1 2g.48gb-me@2", true},
		"all media twice":        {pro, "1g.24gb+me.all@0 1g.24gb@1", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := fill(t, mig(t, tt.product), tt.parts); got != tt.want {
				t.Errorf("%s: fits %v, want %v", tt.parts, got, tt.want)
			}
		})
	}
}

// Every state that any sequence of placements leads to, counted without the layout's word.
func TestMIGNeverExceedsTheGPU(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ compute, memory int }{
		"NVIDIA-A30": {4, 4}, "NVIDIA-A100-SXM4-40GB": {7, 8}, "NVIDIA-H100-80GB-HBM3": {7, 8}, "NVIDIA-H200": {7, 8},
	}
	for product, limit := range tests {
		layout := mig(t, product)
		most := map[int]bool{}
		seen := map[string]bool{}
		var walk func(free uint64, taken []int)
		walk = func(free uint64, taken []int) {
			compute, slices := 0, map[int]int{}
			for _, i := range taken {
				part := layout.Parts()[i]
				g, size := shape(part.Kind, limit.memory, part.Milli)
				compute += g
				start := int(part.Name[len(part.Name)-1] - '0')
				for s := start; s < start+size; s++ {
					slices[s]++
					if s >= limit.memory || slices[s] > 1 {
						t.Fatalf("%s: slice %d is taken twice or is none: %v", product, s, taken)
					}
				}
			}
			if compute > limit.compute {
				t.Fatalf("%s: %d compute slices: %v", product, compute, taken)
			}
			most[len(taken)] = true
			for i := range layout.Parts() {
				after, ok := layout.Take(free, i)
				if !ok || strings.ContainsAny(layout.Parts()[i].Kind, "+-") {
					continue
				}
				next := append(taken[:len(taken):len(taken)], i)
				if key := stateKey(next); !seen[key] {
					seen[key] = true
					walk(after, next)
				}
			}
		}
		walk(layout.Full(), nil)
		if !most[limit.compute] || most[limit.compute+1] {
			t.Errorf("%s: numbers of instances %v, want up to %d", product, most, limit.compute)
		}
	}
}

// shape is how many compute and memory slices an instance takes, from its name and share.
func shape(kind string, memory int, milli int32) (compute, size int) {
	compute = int(kind[0] - '0')
	switch {
	case memory == 4:
		return compute, compute
	case compute == 7:
		return 7, 8
	case compute >= 3:
		return compute, 4
	case compute == 2 || milli == 250:
		return compute, 2
	}
	return compute, 1
}

func stateKey(taken []int) string {
	var has [64]byte
	for _, i := range taken {
		has[i] = 1
	}
	return string(has[:])
}

// Counters as DRA publishes them (KEP-4815) say the same as the table, once their values
// are divided by what all have in common.
func TestLayoutOfDRACounters(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/a100-kep4815.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var spec resourceapi.ResourceSliceSpec
	if err := yaml.UnmarshalStrict(text, &spec); err != nil {
		t.Fatal(err)
	}
	if _, err := layoutOf(&spec, false); err == nil || !strings.Contains(err.Error(), "scale") {
		t.Errorf("bytes: error %v, want that they take too many bits", err)
	}
	layout, err := layoutOf(&spec, true)
	if err != nil {
		t.Fatal(err)
	}
	table := mig(t, "NVIDIA-A100-SXM4-40GB")
	for _, parts := range []string{
		"1g.5gb@0", "1g.5gb@0 1g.5gb@1", "1g.5gb@1 1g.5gb@0", "2g.10gb@0", "2g.10gb@0 1g.5gb@0", "2g.10gb@0 1g.5gb@1", "1g.5gb@1 2g.10gb@0", "1g.5gb@0 1g.5gb@0",
	} {
		if got, want := fill(t, layout, parts), fill(t, table, parts); got != want {
			t.Errorf("%s: counters say %v, the table %v", parts, got, want)
		}
	}
}

// layoutOf turns the one counter set and its devices into a layout.
func layoutOf(spec *resourceapi.ResourceSliceSpec, scaled bool) (*packing.Layout, error) {
	divisor := map[string]uint64{}
	value := func(c resourceapi.Counter) uint64 { return uint64(c.Value.Value()) }
	for name, counter := range spec.SharedCounters[0].Counters {
		divisor[name] = value(counter)
	}
	for _, device := range spec.Devices {
		for name, counter := range device.ConsumesCounters[0].Counters {
			divisor[name] = gcd(divisor[name], value(counter))
		}
	}
	scale := func(name string, c resourceapi.Counter) uint64 {
		if !scaled || divisor[name] == 0 {
			return value(c)
		}
		return value(c) / divisor[name]
	}
	var counters []packing.Counter
	for name, counter := range spec.SharedCounters[0].Counters {
		counters = append(counters, packing.Counter{Name: name, Value: scale(name, counter)})
	}
	var parts []packing.PartSpec
	for _, device := range spec.Devices {
		part := packing.PartSpec{Kind: device.Name, Name: device.Name, Milli: 1, Consumes: map[string]uint64{}}
		if profile, start, ok := strings.Cut(strings.TrimPrefix(device.Name, "gpu-0-mig-"), "-"); ok {
			part.Kind, part.Name = profile, profile+"@"+start[:1]
		}
		for name, counter := range device.ConsumesCounters[0].Counters {
			part.Consumes[name] = scale(name, counter)
		}
		parts = append(parts, part)
	}
	return packing.NewLayout("a100", counters, parts)
}

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
