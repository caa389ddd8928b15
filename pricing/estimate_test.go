package pricing

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

func TestRange(t *testing.T) {
	h100, l4 := nodeOf("p5.48xlarge", "us-east-1"), nodeOf("g6.xlarge", "us-east-1")
	abroad, none := nodeOf("p5.48xlarge", "eu-west-1"), nodeOf("on-prem", "")
	sliced := with(with(nodeOf("g6.xlarge", "us-east-1"), "nvidia.com/gpu.product", "NVIDIA-L4-SHARED"), "nvidia.com/gpu.replicas", "4")
	tests := map[string]struct {
		nodes []*corev1.Node
		// cut tells that there may be other nodes.
		cut  bool
		want Estimate
	}{
		"one price":          {nodes: []*corev1.Node{h100, h100}, want: Estimate{Known: true, MinMicros: 6_880_000, MaxMicros: 6_880_000, Basis: BasisWhole, Confidence: ConfidencePinned}},
		"a range":            {nodes: []*corev1.Node{h100, l4}, want: Estimate{Known: true, MinMicros: 804_800, MaxMicros: 6_880_000, Basis: BasisWhole, Confidence: ConfidenceRange}},
		"another region":     {nodes: []*corev1.Node{h100, abroad}, want: Estimate{Known: true, MinMicros: 6_880_000, MaxMicros: 6_880_000, Basis: BasisWhole, Confidence: ConfidenceOtherRegion}},
		"slices and devices": {nodes: []*corev1.Node{sliced, l4}, want: Estimate{Known: true, MinMicros: 201_200, MaxMicros: 804_800, Basis: BasisMixed, Confidence: ConfidenceRange}},
		"some are unknown":   {nodes: []*corev1.Node{none, h100, l4}, want: Estimate{Partial: true, MinMicros: 804_800, Basis: BasisWhole, Confidence: ConfidencePartial}},
		"all are unknown":    {nodes: []*corev1.Node{none, none}, want: Estimate{Basis: BasisUnknown, Confidence: ConfidenceNone}},
		"others, perhaps":    {nodes: []*corev1.Node{h100, l4}, cut: true, want: Estimate{Partial: true, MinMicros: 804_800, Basis: BasisWhole, Confidence: ConfidencePartial}},
		"others than one":    {nodes: []*corev1.Node{h100, abroad}, cut: true, want: Estimate{Partial: true, MinMicros: 6_880_000, Basis: BasisWhole, Confidence: ConfidencePartial}},
		"others, if any":     {cut: true, want: Estimate{Basis: BasisUnknown, Confidence: ConfidenceNone}},
		"no candidates":      {nodes: nil, want: Estimate{Basis: BasisUnknown, Confidence: ConfidenceNone}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, Default().Range(optionsOf(test.nodes), !test.cut, noon)); diff != "" {
				t.Errorf("estimate (-want +got):\n%s", diff)
			}
		})
	}
}

func optionsOf(nodes []*corev1.Node) []Option {
	options := make([]Option, len(nodes))
	for i, node := range nodes {
		options[i] = Option{Node: node, Wants: gpus(1)}
	}
	return options
}

func TestAnnotationsOfEstimate(t *testing.T) {
	book := parsed(t, "currency: EUR\nbuiltIn: Ignore\nrules:\n- {product: x, perDeviceHour: 1}\n")
	annotations := func(hourly, low, high, basis, confidence string) map[string]string {
		return map[string]string{
			"cost.wastenot.dev/estimated-hourly": hourly, "cost.wastenot.dev/estimated-hourly-min": low,
			"cost.wastenot.dev/estimated-hourly-max": high, "cost.wastenot.dev/currency": "EUR",
			"cost.wastenot.dev/basis": basis, "cost.wastenot.dev/price-book": book.Hash(), "cost.wastenot.dev/confidence": confidence,
		}
	}
	tests := map[string]struct {
		estimate Estimate
		want     map[string]string
	}{
		"a range": {
			Estimate{Known: true, MinMicros: 982_857, MaxMicros: 6_880_000, Basis: BasisMIG, Confidence: ConfidenceRange},
			annotations("6.88", "0.982857", "6.88", "mig", "range"),
		},
		"partial": {
			Estimate{Partial: true, MinMicros: 982_857, Basis: BasisWhole, Confidence: ConfidencePartial},
			annotations("unknown", "0.982857", "unknown", "whole", "partial"),
		},
		"nothing": {book.Range(nil, true, noon), annotations("unknown", "unknown", "unknown", "unknown", "none")},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, test.estimate.Annotations(book)); diff != "" {
				t.Errorf("annotations (-want +got):\n%s", diff)
			}
		})
	}
}
