package accelerator

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMIGShare(t *testing.T) {
	type want struct {
		Share Fraction
		Known bool
	}
	tests := map[[2]string]want{
		{"NVIDIA-A100-SXM4-40GB", "1g.5gb"}:                             {Fraction{1, 7}, true},
		{"NVIDIA-A100-SXM4-40GB", "1g.5gb+me"}:                          {Fraction{1, 7}, true},
		{"NVIDIA-A100-SXM4-40GB", "1g.10gb"}:                            {Fraction{1, 4}, true},
		{"NVIDIA-A100-PCIE-40GB", "2g.10gb"}:                            {Fraction{2, 7}, true},
		{"NVIDIA-A100-SXM4-40GB", "3g.20gb"}:                            {Fraction{1, 2}, true},
		{"NVIDIA-A100-SXM4-40GB", "4g.20gb"}:                            {Fraction{4, 7}, true},
		{"NVIDIA-A100-SXM4-40GB", "7g.40gb"}:                            {Fraction{1, 1}, true},
		{"NVIDIA-A100-SXM4-80GB", "1g.10gb"}:                            {Fraction{1, 7}, true},
		{"NVIDIA-A100-80GB-PCIe", "1g.20gb"}:                            {Fraction{1, 4}, true},
		{"NVIDIA-A30", "1g.6gb"}:                                        {Fraction{1, 4}, true},
		{"NVIDIA-A30", "2g.12gb+me"}:                                    {Fraction{1, 2}, true},
		{"NVIDIA-H100-80GB-HBM3", "1g.10gb+me"}:                         {Fraction{1, 7}, true},
		{"NVIDIA-H100-80GB-HBM3", "7g.80gb"}:                            {Fraction{1, 1}, true},
		{"NVIDIA-H100-PCIe", "3g.40gb"}:                                 {Fraction{1, 2}, true},
		{"NVIDIA-H100-NVL", "3g.47gb"}:                                  {Fraction{1, 2}, true},
		{"NVIDIA-H100-NVL-MIG-1g.12gb", "1g.12gb"}:                      {Fraction{1, 7}, true},
		{"NVIDIA-H100-96GB", "3g.48gb"}:                                 {Fraction{1, 2}, true},
		{"NVIDIA-GH200-480GB", "1g.12gb"}:                               {Fraction{1, 7}, true},
		{"NVIDIA-GH200-144G-HBM3e", "3g.72gb"}:                          {Fraction{1, 2}, true},
		{"NVIDIA-H200", "1g.35gb"}:                                      {Fraction{1, 4}, true},
		{"NVIDIA-H200-NVL", "2g.35gb"}:                                  {Fraction{2, 7}, true},
		{"NVIDIA-B200", "1g.23gb"}:                                      {Fraction{1, 7}, true},
		{"NVIDIA-GB200", "3g.93gb"}:                                     {Fraction{1, 2}, true},
		{"NVIDIA-GB200", "3g.95gb"}:                                     {Fraction{1, 2}, true},
		{"NVIDIA-B300-SXM6-AC", "1g.34gb"}:                              {Fraction{1, 7}, true},
		{"NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition", "1g.24gb-me"}:  {Fraction{1, 4}, true},
		{"NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition", "2g.48gb+gfx"}: {Fraction{1, 2}, true},
		{"NVIDIA-A100-SXM4-40GB-SHARED", "1g.5gb"}:                      {Fraction{1, 7}, true},
		{"NVIDIA-A100-SXM4-40GB", "1g.20gb"}:                            {},
		{"NVIDIA-A100-SXM4-80GB", "1g.5gb"}:                             {},
		{"NVIDIA-A100-SXM-64GB", "1g.8gb"}:                              {},
		{"NVIDIA-A100", "1g.5gb"}:                                       {},
		{"NVIDIA-H100", "1g.10gb"}:                                      {},
		{"NVIDIA-H200", "1g.10gb"}:                                      {},
		{"NVIDIA-L40S", "1g.5gb"}:                                       {},
		{"Tesla-T4", "1g.5gb"}:                                          {},
		{"", "1g.5gb"}:                                                  {},
		{"NVIDIA-A100-SXM4-40GB", ""}:                                   {},
		{"NVIDIA-A100-SXM4-40GB", "1c.3g.20gb"}:                         {},
		{"NVIDIA-A100-SXM4-40GB", "8g.40gb"}:                            {},
	}
	for in, want2 := range tests {
		t.Run(in[0]+" "+in[1], func(t *testing.T) {
			var got want
			got.Share, got.Known = MIGShare(in[0], in[1])
			if diff := cmp.Diff(want2, got); diff != "" {
				t.Errorf("share (-want +got):\n%s", diff)
			}
		})
	}
}

// A product whose name has all the words of two cards would be priced by the order of
// the table.
func TestCardsAreTheOnesTheirWordsName(t *testing.T) {
	for i := range cards {
		name := "NVIDIA"
		for _, word := range cards[i].words {
			name += "-" + word
		}
		for j := range cards {
			if cards[j].is(name) != (i == j) {
				t.Errorf("%s is card %d: %v", name, j, i != j)
			}
		}
	}
}

func TestMaxMIGShareIsTheGreatestOfAnyProduct(t *testing.T) {
	want := map[string]Fraction{
		"1g.5gb":  {1, 7},
		"1g.10gb": {1, 4}, // of an A100-40GB; a seventh of an 80 GB card
		"1g.24gb": {1, 4},
		"3g.40gb": {1, 2},
		"7g.80gb": {1, 1},
	}
	got := map[string]Fraction{}
	for profile := range want {
		got[profile], _ = MaxMIGShare(profile)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("shares (-want +got):\n%s", diff)
	}
	if share, ok := MaxMIGShare("1g.1gb"); ok {
		t.Errorf("1g.1gb is %v of a device, want not known", share)
	}
	for i := range cards {
		for profile, share := range cards[i].profiles {
			if greatest, ok := MaxMIGShare(profile); !ok || greatest.less(share) {
				t.Errorf("%s is %v of card %d and at most %v of any", profile, share, i, greatest)
			}
		}
	}
}

// What fits on one card together must not be more than the card, in millionths too.
func TestFullLayoutsAreWholeDevices(t *testing.T) {
	tests := map[string]struct {
		product string
		layout  map[string]int64
		want    Fraction
	}{
		"seven 1g":               {"NVIDIA-A100-SXM4-40GB", map[string]int64{"1g.5gb": 7}, Fraction{1, 1}},
		"four of double size":    {"NVIDIA-A100-SXM4-40GB", map[string]int64{"1g.10gb": 4}, Fraction{1, 1}},
		"two 3g":                 {"NVIDIA-H100-80GB-HBM3", map[string]int64{"3g.40gb": 2}, Fraction{1, 1}},
		"4g, 2g and 1g":          {"NVIDIA-H200", map[string]int64{"4g.71gb": 1, "2g.35gb": 1, "1g.18gb": 1}, Fraction{1, 1}},
		"three 2g and 1g":        {"NVIDIA-B200", map[string]int64{"2g.45gb": 3, "1g.23gb": 1}, Fraction{1, 1}},
		"7g":                     {"NVIDIA-A100-SXM4-80GB", map[string]int64{"7g.80gb": 1}, Fraction{1, 1}},
		"A30":                    {"NVIDIA-A30", map[string]int64{"1g.6gb": 2, "2g.12gb": 1}, Fraction{1, 1}},
		"RTX":                    {"NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition", map[string]int64{"1g.24gb": 4}, Fraction{1, 1}},
		"balanced, some is lost": {"NVIDIA-A100-SXM4-40GB", map[string]int64{"3g.20gb": 1, "2g.10gb": 1, "1g.5gb": 1}, Fraction{13, 14}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var fourteenths28, micros int64
			for profile, count := range test.layout {
				share, ok := MIGShare(test.product, profile)
				if !ok {
					t.Fatalf("%s of %s is not known", profile, test.product)
				}
				fourteenths28 += count * share.Numerator * 28 / share.Denominator
				micros += count * share.Micros()
			}
			if want := test.want.Numerator * 28 / test.want.Denominator; fourteenths28 != want {
				t.Errorf("%d/28 of a device, want %d/28", fourteenths28, want)
			}
			if micros > one || micros < test.want.Micros()-7 {
				t.Errorf("%d millionths, want at most a million and nearly %d", micros, test.want.Micros())
			}
		})
	}
}

func TestStripProduct(t *testing.T) {
	type parts struct {
		Product, Profile string
		Shared           bool
	}
	tests := map[string]parts{
		"NVIDIA-A100-SXM4-40GB":                    {Product: "NVIDIA-A100-SXM4-40GB"},
		"NVIDIA-L4-SHARED":                         {Product: "NVIDIA-L4", Shared: true},
		"NVIDIA-H100-NVL-MIG-1g.12gb":              {Product: "NVIDIA-H100-NVL", Profile: "1g.12gb"},
		"NVIDIA-A100-SXM4-40GB-MIG-1g.5gb-SHARED":  {Product: "NVIDIA-A100-SXM4-40GB", Profile: "1g.5gb", Shared: true},
		"NVIDIA-A100-SXM4-40GB-MIG-1g.5gb.me":      {Product: "NVIDIA-A100-SXM4-40GB", Profile: "1g.5gb+me"},
		"NVIDIA-A100-SXM4-40GB-SHARED-and-no-more": {Product: "NVIDIA-A100-SXM4-40GB-SHARED-and-no-more"},
		"": {},
	}
	for label, want := range tests {
		t.Run(label, func(t *testing.T) {
			got := parts{StripProduct(label), ProductProfile(label), ProductShared(label)}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("parts (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFractionMicrosRoundsDown(t *testing.T) {
	tests := map[Fraction]int64{{1, 7}: 142_857, {2, 7}: 285_714, {1, 4}: 250_000, {1, 1}: 1_000_000, {}: 0}
	for f, want := range tests {
		t.Run(fmt.Sprint(f), func(t *testing.T) {
			if got := f.Micros(); got != want {
				t.Errorf("%d, want %d", got, want)
			}
		})
	}
}
