package dcgm

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"wastenot.dev/telemetry/sample"
)

// body builds an exposition from lines that leave out what they share: each is
// "FIELD{labels} value", FIELD without DCGM_FI_DEV_ or with PROF_ first.
func body(lines ...string) string {
	var text strings.Builder
	for _, line := range lines {
		if strings.HasPrefix(line, "PROF_") {
			text.WriteString("DCGM_FI_" + line + "\n")
			continue
		}
		text.WriteString("DCGM_FI_DEV_" + line + "\n")
	}
	return text.String()
}

func only(t *testing.T, batch sample.Batch) sample.Device {
	t.Helper()
	if len(batch.Devices) != 1 {
		t.Fatalf("%d devices, want 1: %+v", len(batch.Devices), batch.Devices)
	}
	return batch.Devices[0]
}

func TestWholeGPURowsBesideInstanceRowsAreTheSameDevice(t *testing.T) {
	device := only(t, read(body(
		`POWER_USAGE{UUID="GPU-a",gpu="0"} 100`,
		`POWER_USAGE{UUID="GPU-a",gpu="0",GPU_I_ID="3",GPU_I_PROFILE="3g.20gb"} 110`,
		`POWER_USAGE{UUID="GPU-a",gpu="0",GPU_I_ID="11",GPU_I_PROFILE="1g.5gb"} 90`,
		`FB_USED{UUID="GPU-a",gpu="0"} 700`,
		`FB_USED{UUID="GPU-a",gpu="0",GPU_I_ID="11",GPU_I_PROFILE="1g.5gb"} 7`,
		`PROF_GR_ENGINE_ACTIVE{UUID="GPU-a",gpu="0",GPU_I_ID="3",GPU_I_PROFILE="3g.20gb"} 0.5`,
	)))
	if !device.MIG || !device.Fields[sample.Power].Is(110) || !device.Fields[sample.FBUsed].Is(700*mib) {
		t.Errorf("MIG %v, power %v, memory %v; want MIG, the largest power and the memory of the whole-GPU row",
			device.MIG, device.Fields[sample.Power], device.Fields[sample.FBUsed])
	}
	if device.Fields[sample.EngineActive].IsKnown() {
		t.Errorf("an instance's activity is shown as the device's: %v", device.Fields[sample.EngineActive])
	}
	got := map[string]string{}
	var order []string
	for _, part := range device.Partitions {
		order = append(order, part.GI)
		got[part.GI] = part.Profile + " " + part.Fields[sample.EngineActive].String() + " " + part.Fields[sample.Power].String()
	}
	if diff := cmp.Diff(map[string]string{"3": "3g.20gb 0.5 unknown", "11": "1g.5gb unknown unknown"}, got); diff != "" {
		t.Errorf("instances differ (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"3", "11"}, order); diff != "" {
		t.Errorf("instances are not in order of GI (-want +got):\n%s", diff)
	}
}

func TestXIDIsKeptOnTheInstanceAndOnTheDevice(t *testing.T) {
	const whole, first, second = `XID_ERRORS{UUID="GPU-a"} `, `XID_ERRORS{UUID="GPU-a",GPU_I_ID="1"} `, `XID_ERRORS{UUID="GPU-a",GPU_I_ID="2"} `
	tests := map[string]struct {
		lines      []string
		wantDevice string
		wantParts  map[string]string
	}{
		"one instance faults":             {[]string{first + "0", second + "94"}, "94", map[string]string{"1": "0", "2": "94"}},
		"two instances fault":             {[]string{first + "31", second + "13"}, "31", map[string]string{"1": "31", "2": "13"}},
		"the whole-GPU row wins":          {[]string{whole + "79", second + "94"}, "79", map[string]string{"2": "94"}},
		"a clean whole-GPU row does not":  {[]string{whole + "0", second + "94"}, "94", map[string]string{"2": "94"}},
		"nothing anywhere":                {[]string{first + "0", second + "0"}, "0", map[string]string{"1": "0", "2": "0"}},
		"blank is no all-clear":           {[]string{first + "2147483632", second + "4294967295"}, "unknown", map[string]string{"1": "unknown", "2": "unknown"}},
		"new label of later exporters":    {[]string{`XID_ERRORS{UUID="GPU-a",GPU_I_ID="1",err_code="48",err_msg="DBE"} 48`}, "48", map[string]string{"1": "48"}},
		"blank whole row, known instance": {[]string{whole + "NaN", first + "43"}, "43", map[string]string{"1": "43"}},
	}
	for label, test := range tests {
		t.Run(label, func(t *testing.T) {
			device := only(t, read(body(test.lines...)))
			if got := device.Fields[sample.XID].String(); got != test.wantDevice {
				t.Errorf("device XID = %s, want %s", got, test.wantDevice)
			}
			got := map[string]string{}
			for _, part := range device.Partitions {
				got[part.GI] = part.Fields[sample.XID].String()
			}
			if diff := cmp.Diff(test.wantParts, got); diff != "" {
				t.Errorf("instance XIDs differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestUtilizationUnderMIGIsUnknown(t *testing.T) {
	device := only(t, read(body(
		`GPU_UTIL{UUID="GPU-a"} 0`,
		`GPU_UTIL{UUID="GPU-a",GPU_I_ID="1"} 0`,
		`MEM_COPY_UTIL{UUID="GPU-a",GPU_I_ID="1"} 0`,
	)))
	for _, field := range []sample.Field{sample.GPUUtil, sample.MemCopyUtil} {
		if device.Fields[field].IsKnown() || device.Partitions[0].Fields[field].IsKnown() {
			t.Errorf("%s under MIG is known: %v, %v", field, device.Fields[field], device.Partitions[0].Fields[field])
		}
	}
}

func TestValuesThatDifferFromPodToPod(t *testing.T) {
	lines := func(vgpu string) string {
		return body(
			`GPU_UTIL{UUID="GPU-a",pod="p",namespace="n"`+strings.ReplaceAll(vgpu, "#", "0")+`} 20`,
			`GPU_UTIL{UUID="GPU-a",pod="q",namespace="n"`+strings.ReplaceAll(vgpu, "#", "1")+`} 70`,
			`FB_FREE{UUID="GPU-a",pod="p",namespace="n"`+strings.ReplaceAll(vgpu, "#", "0")+`} 20`,
			`FB_FREE{UUID="GPU-a",pod="q",namespace="n"`+strings.ReplaceAll(vgpu, "#", "1")+`} 10`,
		)
	}
	tests := map[string]struct {
		body        string
		wantProblem bool
	}{
		"per-process mode says so": {lines(`,vgpu="#"`), false},
		"without it is a problem":  {lines(""), true},
	}
	for label, test := range tests {
		t.Run(label, func(t *testing.T) {
			batch := read(test.body)
			device := only(t, batch)
			if !device.Fields[sample.GPUUtil].Is(0.7) || !device.Fields[sample.FBFree].Is(10*mib) {
				t.Errorf("utilization %v, free memory %v; want the largest, 0.7, and the smallest, 10 MiB",
					device.Fields[sample.GPUUtil], device.Fields[sample.FBFree])
			}
			if len(device.Holders) != 2 {
				t.Errorf("holders = %v, want both pods", device.Holders)
			}
			if got := len(batch.Problems) == 1; got != test.wantProblem {
				t.Errorf("problems = %q, want one: %v", whys(batch), test.wantProblem)
			}
		})
	}
}

func TestAPodWithTwoReplicasIsOneHolder(t *testing.T) {
	batch := read(body(
		`GPU_UTIL{UUID="GPU-a",pod="p",namespace="n",container="c",vgpu="0"} 20`,
		`GPU_UTIL{UUID="GPU-a",pod="p",namespace="n",container="c",vgpu="1"} 20`,
	))
	want := []sample.Holder{{Namespace: "n", Pod: "p", Container: "c"}}
	if diff := cmp.Diff(want, only(t, batch).Holders); diff != "" {
		t.Errorf("holders differ (-want +got):\n%s", diff)
	}
	if len(batch.Problems) != 0 {
		t.Errorf("problems = %q, want none", whys(batch))
	}
}

func TestClockReasonsAreTheUnionOfTheRows(t *testing.T) {
	device := only(t, read(body(
		`CLOCKS_EVENT_REASONS{UUID="GPU-a",GPU_I_ID="1"} 4`,
		`CLOCKS_EVENT_REASONS{UUID="GPU-a",GPU_I_ID="2"} 64`,
	)))
	if got := device.Fields[sample.ClocksEventReasons]; !got.Is(0x44) {
		t.Errorf("reasons = %v, want %d", got, 0x44)
	}
}

func TestIdentity(t *testing.T) {
	tests := map[string]struct {
		lines       []string
		want        []string // "UUID index: GI/CI GI/CI"
		wantProblem string
	}{
		"devices in order of index": {
			lines: []string{`GPU_TEMP{UUID="GPU-k",gpu="10"} 1`, `GPU_TEMP{UUID="GPU-b",gpu="2"} 1`, `GPU_TEMP{UUID="GPU-a",gpu="0"} 1`},
			want:  []string{"GPU-a 0:", "GPU-b 2:", "GPU-k 10:"},
		},
		"a row without UUID joins its index": {
			lines: []string{`GPU_TEMP{UUID="GPU-a",gpu="0"} 1`, `POWER_USAGE{gpu="0"} 1`},
			want:  []string{"GPU-a 0:"},
		},
		"a later row brings the UUID": {
			lines: []string{`POWER_USAGE{gpu="0"} 1`, `GPU_TEMP{UUID="GPU-a",gpu="0"} 1`},
			want:  []string{"GPU-a 0:"},
		},
		"without any UUID the index tells apart": {
			lines: []string{`GPU_TEMP{gpu="0"} 1`, `GPU_TEMP{gpu="1"} 1`},
			want:  []string{" 0:", " 1:"},
		},
		"one index on two hosts": {
			lines:       []string{`GPU_TEMP{gpu="0",Hostname="n1"} 1`, `GPU_TEMP{gpu="0",Hostname="n2"} 1`},
			want:        []string{" 0:", " 0:"},
			wantProblem: "several hosts",
		},
		"legacy instance name": {
			lines: []string{`GPU_TEMP{UUID="MIG-GPU-a/7/0",gpu="0"} 1`},
			want:  []string{"GPU-a 0: 7/0"},
		},
		"an instance without its GPU": {
			lines:       []string{`GPU_TEMP{UUID="MIG-a",gpu="0"} 1`, `GPU_TEMP{UUID="GPU-a",gpu="0"} 1`},
			want:        []string{"GPU-a 0:"},
			wantProblem: "name a MIG instance",
		},
		"an unused field shows its device": {
			lines: []string{`ENC_UTIL{UUID="GPU-a",gpu="0"} 0`},
			want:  []string{"GPU-a 0:"},
		},
		"a compute instance alone is its GPU instance": {
			lines: []string{`FB_USED{UUID="GPU-a",gpu="0",GPU_I_ID="3"} 1`, `PROF_GR_ENGINE_ACTIVE{UUID="GPU-a",gpu="0",GPU_I_ID="3",GPU_CI_ID="0"} 1`},
			want:  []string{"GPU-a 0: 3/0"},
		},
		"two compute instances are two": {
			lines: []string{`FB_USED{UUID="GPU-a",gpu="0",GPU_I_ID="3",GPU_CI_ID="1"} 1`, `FB_USED{UUID="GPU-a",gpu="0",GPU_I_ID="3",GPU_CI_ID="0"} 1`},
			want:  []string{"GPU-a 0: 3/0 3/1"},
		},
	}
	for label, test := range tests {
		t.Run(label, func(t *testing.T) {
			batch := read(body(test.lines...))
			var got []string
			for _, device := range batch.Devices {
				text := device.UUID + " " + device.Index + ":"
				for _, part := range device.Partitions {
					text += " " + part.GI + "/" + part.CI
				}
				got = append(got, text)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("devices differ (-want +got):\n%s", diff)
			}
			if problems := strings.Join(whys(batch), "\n"); !strings.Contains(problems, test.wantProblem) || test.wantProblem == "" && problems != "" {
				t.Errorf("problems = %q, want %q", problems, test.wantProblem)
			}
		})
	}
}

func TestAComputeInstanceTakesTheReadingsOfItsGPUInstance(t *testing.T) {
	part := only(t, read(body(
		`FB_USED{UUID="GPU-a",GPU_I_ID="3",GPU_I_PROFILE="3g.20gb",pod="p",namespace="n"} 1`,
		`PROF_GR_ENGINE_ACTIVE{UUID="GPU-a",GPU_I_ID="3",GPU_CI_ID="0"} 0.5`,
	))).Partitions[0]
	if !part.Fields[sample.FBUsed].Is(mib) || !part.Fields[sample.EngineActive].Is(0.5) || part.Profile != "3g.20gb" {
		t.Errorf("joined instance = %+v, want the readings of both rows", part)
	}
	if part.Attribution != sample.AttributionHeld || len(part.Holders) != 1 {
		t.Errorf("attribution %v, holders %v; want the pod of the GPU instance", part.Attribution, part.Holders)
	}
}

func TestTheNodeIsTheTargetsElseTheHostLabel(t *testing.T) {
	text := []byte(body(`GPU_TEMP{gpu="0",Hostname="dcgm-exporter-x"} 40`))
	for _, test := range []struct{ node, want string }{{"node-1", "node-1"}, {"", "dcgm-exporter-x"}} {
		if got := Read(text, Origin{Node: test.node, FetchedAt: fetchedAt}).Node; got != test.want {
			t.Errorf("node = %q with a target of %q, want %q", got, test.node, test.want)
		}
	}
}
