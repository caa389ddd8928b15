package accelerator

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestKindAndProfile(t *testing.T) {
	tests := map[corev1.ResourceName]struct {
		wantKind    Kind
		wantProfile string
	}{
		"nvidia.com/gpu":                       {wantKind: KindDevice},
		"nvidia.com/gpu.shared":                {wantKind: KindShared},
		"nvidia.com/mig-1g.5gb":                {wantKind: KindMIG, wantProfile: "1g.5gb"},
		"nvidia.com/mig-7g.80gb":               {wantKind: KindMIG, wantProfile: "7g.80gb"},
		"nvidia.com/mig-1g.10gb.me":            {wantKind: KindMIG, wantProfile: "1g.10gb+me"},
		"nvidia.com/mig-1g.24gb.gfx":           {wantKind: KindMIG, wantProfile: "1g.24gb+gfx"},
		"nvidia.com/mig-1g.24gb.me.all":        {wantKind: KindMIG, wantProfile: "1g.24gb+me.all"},
		"nvidia.com/mig-1g.24gb-me":            {wantKind: KindMIG, wantProfile: "1g.24gb-me"},
		"nvidia.com/mig-1g.5gb.shared":         {wantKind: KindMIG, wantProfile: "1g.5gb"},
		"nvidia.com/mig-1g.10gb.me.shared":     {wantKind: KindMIG, wantProfile: "1g.10gb+me"},
		"aws.amazon.com/neuron":                {wantKind: KindNeuron},
		"aws.amazon.com/neuroncore":            {wantKind: KindNeuron},
		"aws.amazon.com/neurondevice":          {wantKind: KindNeuron},
		"nvidia.com/hostdev":                   {},
		"nvidia.com/gpu.product":               {},
		"nvidia.com/mig":                       {},
		"rdma/hca":                             {},
		"cpu":                                  {},
		"hugepages-2Mi":                        {},
		"example.com/nvidia.com/mig-1g.5gb":    {},
		"requests.nvidia.com/gpu":              {},
		"":                                     {},
		"vpc.amazonaws.com/pod-eni":            {},
		"aws.amazon.com/accelerator-unrelated": {},
	}
	for name, test := range tests {
		t.Run(string(name), func(t *testing.T) {
			if got := KindOf(name); got != test.wantKind {
				t.Errorf("kind %d, want %d", got, test.wantKind)
			}
			if got := ProfileOf(name); got != test.wantProfile {
				t.Errorf("profile %q, want %q", got, test.wantProfile)
			}
		})
	}
}
