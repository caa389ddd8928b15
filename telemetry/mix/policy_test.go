package mix

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"wastenot.dev/placement/packing"
)

func TestParsePolicy(t *testing.T) {
	t.Parallel()
	item := func(weight int64, request packing.Request) packing.Item {
		return packing.Item{Request: request, Weight: weight}
	}
	for name, test := range map[string]struct {
		text string
		want Policy
	}{
		"nothing":         {"", Policy{HalfLife: 4096}},
		"only comments":   {"# seed:\n", Policy{HalfLife: 4096}},
		"half life":       {"halfLife: 100", Policy{HalfLife: 100}},
		"empty seed":      {"seed: []", Policy{HalfLife: 4096}},
		"the least of it": {"seed: [{resource: nvidia.com/gpu}]", Policy{4096, []packing.Item{item(1, packing.Request{Kind: "nvidia.com/gpu", Count: 1, Milli: 1000})}}},
		"all of it": {
			`{halfLife: 9, seed: [{resource: nvidia.com/gpu, count: 2, cpu: "12", memory: 64Gi, products: [NVIDIA-L4, NVIDIA-A10], weight: 20}, {resource: nvidia.com/mig-1g.10gb, cpu: 0.5}]}`,
			Policy{9, []packing.Item{
				item(20, packing.Request{Kind: "nvidia.com/gpu", Count: 2, Milli: 1000, CPUMilli: 11264, MemoryMiB: 65536, Products: "NVIDIA-A10|NVIDIA-L4"}),
				item(1, packing.Request{Kind: "nvidia.com/mig-1g.10gb", Count: 1, Milli: 1000, CPUMilli: 480}),
			}},
		},
		"JSON":  {`{"halfLife": 7}`, Policy{HalfLife: 7}},
		"nulls": {"{halfLife: null, seed: [{resource: nvidia.com/gpu, cpu: null, count: null}]}", Policy{4096, []packing.Item{item(1, packing.Request{Kind: "nvidia.com/gpu", Count: 1, Milli: 1000})}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := ParsePolicy([]byte(test.text))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&test.want, got); diff != "" {
				t.Errorf("policy (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParsePolicyNamesEveryFault(t *testing.T) {
	t.Parallel()
	many := func(n int, format string) string {
		var out []string
		for i := range n {
			out = append(out, strings.ReplaceAll(format, "N", fmt.Sprint(i)))
		}
		return "[" + strings.Join(out, ", ") + "]"
	}
	for name, test := range map[string]struct {
		text string
		want []string
	}{
		"no YAML":          {"{", []string{"decoding the mix policy"}},
		"a list":           {"[]", []string{"is a list"}},
		"misspelled":       {"{halflife: 1, seed: [{resource: nvidia.com/gpu, product: [a]}]}", []string{`"halflife"`, `"seed[0].product"`}},
		"given twice":      {"halfLife: 1\nhalfLife: 2", []string{"halfLife"}},
		"another kind":     {"halfLife: soon", []string{"halfLife: is text, expected a whole number"}},
		"half lives":       {"halfLife: 0", []string{"halfLife: Invalid value: 0: must be from 1 to"}},
		"half life of eon": {"halfLife: 1000000", []string{"halfLife"}},
		"quantities": {
			"seed: [{resource: nvidia.com/gpu, cpu: many}, {resource: nvidia.com/gpu, memory: 64GB, cpu: 1e999999999}, {resource: nvidia.com/gpu, memory: {}}]",
			[]string{"seed[0].cpu", "seed[1].cpu", "seed[1].memory", "seed[2].memory", "such as 12 or 64Gi"},
		},
		"everything at once": {
			`{halfLife: -1, seed: [
				{resource: cpu, count: 0, cpu: -1, memory: 2Ei, products: ["", a|b, c, c], weight: 0},
				{count: 10001, cpu: 10001, memory: -1, weight: 1000000},
				{resource: nvidia.com/mig-}]}`,
			[]string{
				"halfLife", "seed[0].resource: Invalid", "seed[0].count", "seed[0].cpu", "seed[0].memory", "seed[0].products[0]",
				"seed[0].products[1]", "seed[0].products[3]: Duplicate", "seed[0].weight", "seed[1].resource: Required", "seed[1].count",
				"seed[1].cpu", "seed[1].memory", "seed[1].weight", "seed[2].resource",
			},
		},
		"too many products": {"seed: [{resource: nvidia.com/gpu, products: " + many(33, "pN") + "}]", []string{"seed[0].products: Too many"}},
		"too many seeds":    {"seed: " + many(257, "{resource: nvidia.com/mig-Ng.1gb}"), []string{"seed: Too many"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			policy, err := ParsePolicy([]byte(test.text))
			if err == nil {
				t.Fatalf("it was taken as %+v", policy)
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error does not say %q:\n%v", want, err)
				}
			}
		})
	}
}

func FuzzParsePolicy(f *testing.F) {
	f.Add([]byte(`{halfLife: 9, seed: [{resource: nvidia.com/gpu, count: 2, cpu: "12", memory: 64Gi, products: [NVIDIA-L4], weight: 20}]}`))
	f.Add([]byte("seed: [{cpu: 1e99, memory: .}]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		policy, err := ParsePolicy(text)
		if err != nil {
			return
		}
		if policy.HalfLife < 1 || len(policy.Seed) > packing.MaxItems {
			t.Errorf("half life %d, %d seeds", policy.HalfLife, len(policy.Seed))
		}
		for _, item := range policy.Seed {
			if item.Kind == "" || item.Count < 1 || item.Weight < 1 || item.CPUMilli < 0 || item.MemoryMiB < 0 {
				t.Errorf("seed %+v", item)
			}
		}
	})
}
