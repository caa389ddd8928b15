package quota

import (
	"math"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"wastenot.dev/api/v1alpha1"
)

func TestWeight(t *testing.T) {
	t.Parallel()
	classes := Classes{
		"nvidia.com/gpu.shared":                          {Devices: resource.MustParse("0.25")},
		"nvidia.com/mig-2g.10gb":                         {Devices: resource.MustParse("0.3")},
		"aws.amazon.com/neuron":                          {Devices: resource.MustParse("0")},
		"deviceclass.resource.kubernetes.io/pod.example": {Devices: resource.MustParse("16")},
	}
	tests := map[string]int64{
		"nvidia.com/gpu":                                    1_000_000,
		"nvidia.com/gpu.shared":                             250_000,
		"nvidia.com/mig-1g.5gb":                             142_857, // A seventh of an A100.
		"nvidia.com/mig-7g.40gb":                            1_000_000,
		"nvidia.com/mig-2g.10gb":                            300_000,
		"nvidia.com/mig-9z.1gb":                             1_000_000,
		"aws.amazon.com/neuroncore":                         1_000_000,
		"aws.amazon.com/neuron":                             1_000_000, // A ledger that was edited: nothing counts as none.
		"deviceclass.resource.kubernetes.io/pod.example":    16_000_000,
		"deviceclass.resource.kubernetes.io/gpu.nvidia.com": 1_000_000,
	}
	for class, want := range tests {
		if got := Weight(class, classes); got != want {
			t.Errorf("a unit of %s is %d millionths, want %d", class, got, want)
		}
	}
}

func TestPartsOfADeviceAreNoMoreThanIt(t *testing.T) {
	t.Parallel()
	for profile, parts := range map[string]int64{"1g.5gb": 7, "1g.18gb": 7, "2g.10gb": 3, "3g.20gb": 2, "4g.20gb": 1, "7g.40gb": 1} {
		if sum := Devices(map[string]int64{"nvidia.com/mig-" + profile: parts}, nil); sum > wholeDevice {
			t.Errorf("%d of %s are %d millionths of a device", parts, profile, sum)
		}
	}
}

func TestDevicesSaturates(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		counts map[string]int64
		want   int64
	}{
		"nothing":  {nil, 0},
		"negative": {map[string]int64{"nvidia.com/gpu": -1, "nvidia.com/mig-1g.5gb": math.MinInt64}, 0},
		"product":  {map[string]int64{"nvidia.com/gpu": 1 << 62}, math.MaxInt64},
		"sum":      {map[string]int64{"nvidia.com/gpu": math.MaxInt64 / wholeDevice, "aws.amazon.com/neuron": math.MaxInt64 / wholeDevice}, math.MaxInt64},
		"exact":    {map[string]int64{"nvidia.com/gpu": 3, "nvidia.com/mig-1g.5gb": 2}, 3_285_714},
	}
	for name, tt := range tests {
		if got := Devices(tt.counts, nil); got != tt.want {
			t.Errorf("%s: got %d, want %d", name, got, tt.want)
		}
	}
}

func TestMicrosOf(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		want  int64
		exact bool
	}{
		"0": {0, true}, "1": {1_000_000, true}, "0.25": {250_000, true}, "250m": {250_000, true}, "1u": {1, true}, "999n": {0, false},
		"1500n": {1, false}, "-1": {-1_000_000, true}, "9223372036854": {9_223_372_036_854_000_000, true}, "9223372036855": {math.MaxInt64, false},
		"-9223372036855": {-math.MaxInt64, false}, "1e999999999": {math.MaxInt64, false}, "1E": {math.MaxInt64, false},
	}
	for text, tt := range tests {
		if got, exact := microsOf(resource.MustParse(text)); got != tt.want || exact != tt.exact {
			t.Errorf("%s: got %d, %t, want %d, %t", text, got, exact, tt.want, tt.exact)
		}
	}
}

func TestConfigureKeepsWhatItDoesNotSay(t *testing.T) {
	t.Parallel()
	cfg := parsed(t, "teams: [{name: a, limits: {devices: 2}}]")
	if ledger, changed := Configure(nil, cfg, "b"); ledger != nil || changed {
		t.Error("a team that is not configured got a ledger")
	}
	ledger, changed := Configure(nil, cfg, "a")
	if !changed || ledger.Name != "a" || ledger.Status.AsOf != nil || ledger.Spec.ConfigHash != cfg.Hash() {
		t.Errorf("got %v, %t", ledger, changed)
	}
	ledger = Reconcile(ledger, []Held{{UID: "p", Demand: map[string]int64{"nvidia.com/gpu": 1}}}, nil, noon)
	if same, changed := Configure(ledger, cfg, "a"); changed || same != ledger {
		t.Error("the same configuration is a change")
	}
	before := ledger.DeepCopy()
	next, changed := Configure(ledger, parsed(t, "teams: [{name: a, limits: {devices: 3}}]\nclasses: {nvidia.com/gpu: {devices: 2}}"), "a")
	if !changed || next.Status.Devices.String() != "2" || next.Status.Committed["nvidia.com/gpu"] != 1 {
		t.Errorf("got %v, %t, want what is held, counted anew", next.Status, changed)
	}
	same(t, before, ledger)
	var none *v1alpha1.QuotaLedger
	if kept, changed := Configure(none, nil, "a"); kept != nil || changed {
		t.Error("without a configuration there is a ledger")
	}
}
