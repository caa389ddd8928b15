package dcgm

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"wastenot.dev/telemetry/sample"
)

func TestWhoHoldsADevice(t *testing.T) {
	const user, exporter = `pod="p",namespace="n",container="c"`, `pod="dcgm-exporter-1",namespace="monitoring",container="exporter"`
	const exported = `exported_pod="p",exported_namespace="n",exported_container="c"`
	const relay = `,instance="192.0.2.1:9400",job="dcgm"`
	holder := []sample.Holder{{Namespace: "n", Pod: "p", Container: "c"}}
	tests := map[string]struct {
		labels      []string // of the rows of one device
		other       string   // of a row of another device
		want        sample.Attribution
		wantHolders []sample.Holder
	}{
		"labels name a pod":                          {[]string{user}, "", sample.AttributionHeld, holder},
		"labels are empty":                           {[]string{`pod="",namespace="",container=""`}, "", sample.AttributionEmpty, nil},
		"empty here, filled on another":              {[]string{`pod="",namespace="",container=""`}, user, sample.AttributionNone, nil},
		"no labels here, others have them":           {[]string{""}, user, sample.AttributionNone, nil},
		"no labels anywhere":                         {[]string{""}, "", sample.AttributionNone, nil},
		"some rows name it, some are empty":          {[]string{`pod=""`, user, ""}, "", sample.AttributionHeld, holder},
		"empty and absent":                           {[]string{"", `pod=""`}, "", sample.AttributionEmpty, nil},
		"exported labels win":                        {[]string{exported + "," + exporter + relay}, "", sample.AttributionHeld, holder},
		"exporter pod replaced":                      {[]string{exported + "," + exporter + relay, exported + `,pod="dcgm-exporter-2",namespace="monitoring"` + relay}, "", sample.AttributionHeld, holder},
		"exported labels elsewhere":                  {[]string{exporter + relay}, exported + "," + exporter + relay, sample.AttributionNone, nil},
		"exported labels are empty":                  {[]string{`exported_pod="",` + exporter + relay}, "", sample.AttributionEmpty, nil},
		"relayed, and the pod may be either":         {[]string{user + relay}, "", sample.AttributionUnknown, nil},
		"relayed without pod":                        {[]string{relay[1:]}, "", sample.AttributionNone, nil},
		"a claim names more":                         {[]string{user + `,dra_claim_name="k",dra_claim_namespace="n"`}, "", sample.AttributionHeld, []sample.Holder{{Namespace: "n", Pod: "p", Container: "c", Claim: "n/k"}}},
		"a claim without pod":                        {[]string{`dra_claim_name="k",dra_claim_namespace="n"`}, "", sample.AttributionHeld, []sample.Holder{{Claim: "n/k"}}},
		"holders in order, each once":                {[]string{`pod="b",namespace="z"`, `pod="b",namespace="a"`, `pod="b",namespace="z"`}, "", sample.AttributionHeld, []sample.Holder{{Namespace: "a", Pod: "b"}, {Namespace: "z", Pod: "b"}}},
		"a container without pod is nobody's device": {[]string{`container="c",pod="",namespace=""`}, "", sample.AttributionEmpty, nil},
	}
	for label, test := range tests {
		for _, instance := range []string{"", `,GPU_I_ID="3"`} {
			t.Run(label+instance, func(t *testing.T) {
				var text strings.Builder
				for i, labels := range test.labels {
					family := []string{"GPU_TEMP", "SM_CLOCK", "XID_ERRORS"}[i]
					fmt.Fprintf(&text, "DCGM_FI_DEV_%s{gpu=\"0\",UUID=\"GPU-a\"%s,%s} 1\n", family, instance, labels)
				}
				fmt.Fprintf(&text, "DCGM_FI_DEV_GPU_TEMP{gpu=\"1\",UUID=\"GPU-b\",%s} 1\n", test.other)
				batch := read(text.String())
				device := batch.Devices[0]
				attribution, holders := device.Attribution, device.Holders
				if instance != "" {
					attribution, holders = device.Partitions[0].Attribution, device.Partitions[0].Holders
					if device.Attribution != sample.AttributionUnknown || device.Holders != nil {
						t.Errorf("the device has %v %v though no whole-GPU row speaks of it", device.Attribution, device.Holders)
					}
				}
				if attribution != test.want {
					t.Errorf("attribution = %v, want %v", attribution, test.want)
				}
				if diff := cmp.Diff(test.wantHolders, holders); diff != "" {
					t.Errorf("holders differ (-want +got):\n%s", diff)
				}
			})
		}
	}
}

func TestTimesOfReadings(t *testing.T) {
	at := func(ago time.Duration) string { return fmt.Sprint(fetchedAt.Add(-ago).UnixMilli()) }
	const power, temp = `POWER_USAGE{UUID="GPU-a"} 100 `, `GPU_TEMP{UUID="GPU-a"} 40 `
	tests := map[string]struct {
		lines       []string
		wantAge     time.Duration
		wantBound   bool
		wantTemp    string
		wantProblem string
	}{
		"no times":                    {[]string{power, temp}, 0, true, "40", ""},
		"the oldest counts":           {[]string{power + at(5*time.Second), temp + at(20*time.Second)}, 20 * time.Second, false, "40", ""},
		"some rows without":           {[]string{power, temp + at(20*time.Second)}, 20 * time.Second, true, "40", ""},
		"older than the budget":       {[]string{power + at(5*time.Second), temp + at(121*time.Second)}, 5 * time.Second, false, "unknown", "1 readings are older"},
		"all older than the budget":   {[]string{temp + at(time.Hour)}, 0, true, "unknown", "1 readings are older"},
		"in seconds":                  {[]string{temp + fmt.Sprint(fetchedAt.Add(-9*time.Second).Unix())}, 9 * time.Second, false, "40", ""},
		"a little in the future":      {[]string{temp + at(-2*time.Second)}, 0, true, "40", ""},
		"far in the future":           {[]string{temp + at(-time.Hour)}, 0, true, "40", "clocks differ"},
		"before all time":             {[]string{temp + "-1"}, 0, true, "unknown", "1 readings are older"},
		"of a field that is not used": {[]string{temp + at(5*time.Second), `ENC_UTIL{UUID="GPU-a"} 1 ` + at(time.Minute)}, 5 * time.Second, false, "40", ""},
	}
	for label, test := range tests {
		t.Run(label, func(t *testing.T) {
			batch := read(body(test.lines...))
			if got := fetchedAt.Sub(batch.ObservedAt); got != test.wantAge {
				t.Errorf("age at the fetch = %v, want %v", got, test.wantAge)
			}
			if batch.AgeIsLowerBound != test.wantBound {
				t.Errorf("age is a lower bound: %v, want %v", batch.AgeIsLowerBound, test.wantBound)
			}
			if got := only(t, batch).Fields[sample.GPUTemp].String(); got != test.wantTemp {
				t.Errorf("temperature = %s, want %s", got, test.wantTemp)
			}
			if problems := strings.Join(whys(batch), "\n"); !strings.Contains(problems, test.wantProblem) || test.wantProblem == "" && problems != "" {
				t.Errorf("problems = %q, want %q", problems, test.wantProblem)
			}
		})
	}
}
