package dcgm

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"wastenot.dev/telemetry/sample"
)

// FuzzRead feeds any bytes as an answer. Whatever comes, reading ends without a
// panic and keeps the promises of Read.
func FuzzRead(f *testing.F) {
	entries, err := os.ReadDir(corpusDir)
	if err != nil {
		f.Fatal(err)
	}
	for _, entry := range entries {
		seed, err := os.ReadFile(filepath.Join(corpusDir, entry.Name()))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(seed)
	}
	for _, seed := range []string{
		"", "\n", "\r", "{", "{}", "{} 1\n", `{"DCGM_FI_A"} 1` + "\n", "DCGM_FI_", "DCGM_FI_ 1\n", "DCGM_FI_DEV_GPU_TEMP{} 1\n",
		"DCGM_FI_DEV_GPU_TEMP{gpu=\"0\"} 1 99999999999999999\n", "DCGM_FI_DEV_GPU_TEMP{gpu=\"0\"} 1 -9223372036854775808\n",
		"DCGM_FI_DEV_XID_ERRORS{gpu=\"\",UUID=\"MIG-GPU-a/1\"} 1\nDCGM_FI_DEV_XID_ERRORS{UUID=\"MIG-GPU-a/1/2\"} 1\n",
		"DCGM_FI_DEV_FB_USED{UUID=\"a\",GPU_I_ID=\"1\"} 1\nDCGM_FI_DEV_FB_USED{UUID=\"a\",GPU_I_ID=\"1\",GPU_CI_ID=\"0\"} 2\n",
		"DCGM_FI_DEV_FB_USED{UUID=\"a\",exported_pod=\"\",pod=\"x\"} 0x1p4\n# HELP\n# TYPE DCGM_FI_DEV_FB_USED histogram\n",
		"DCGM_FI_DEV_FB_USED{le=\"1\",quantile=\"x\",gpu=\"0\"} 1\nDCGM_FI_DEV_FB_USED_sum{gpu=\"0\"} 1\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		batch := Read(body, Origin{Endpoint: "fuzz", FetchedAt: fetchedAt, Budget: time.Minute})
		checkPromises(t, batch)
	})
}

func checkPromises(t *testing.T, batch sample.Batch) {
	t.Helper()
	if len(batch.Problems) > maxProblems+2 {
		t.Errorf("%d problems", len(batch.Problems))
	}
	if len(batch.Devices) == 0 && len(batch.Problems) == 0 {
		t.Error("no device and no problem: an empty inventory that looks healthy")
	}
	if batch.ObservedAt.After(fetchedAt) || fetchedAt.Sub(batch.ObservedAt) > time.Minute {
		t.Errorf("observed at %v, which is not within the budget before the fetch", batch.ObservedAt)
	}
	seen := map[string]bool{}
	for _, device := range batch.Devices {
		if device.UUID != "" && seen[device.UUID] {
			t.Errorf("%s is there twice", device.UUID)
		}
		seen[device.UUID] = true
		if device.UUID == "" && device.Index == "" {
			t.Error("a device without any identity")
		}
		if device.MIG != (len(device.Partitions) > 0) {
			t.Errorf("MIG is %v with %d partitions", device.MIG, len(device.Partitions))
		}
		checkFields(t, device.Fields)
		checkHolders(t, device.Attribution, device.Holders)
		keys := map[[2]string]bool{}
		for _, part := range device.Partitions {
			if key := [2]string{part.GI, part.CI}; keys[key] || part.GI == "" {
				t.Errorf("partition %v is there twice or has no id", key)
			}
			keys[[2]string{part.GI, part.CI}] = true
			checkFields(t, part.Fields)
			checkHolders(t, part.Attribution, part.Holders)
			if part.Fields[sample.Power].IsKnown() || part.Fields[sample.GPUUtil].IsKnown() {
				t.Error("a partition has readings of the board, or utilization")
			}
		}
	}
}

func checkFields(t *testing.T, fields sample.Fields) {
	t.Helper()
	for field, value := range fields {
		number, isKnown := value.Get()
		if isKnown && (number < 0 || isBlank(number) && sample.Field(field) < sample.FBUsed) {
			t.Errorf("%s = %v", sample.Field(field), number)
		}
	}
	for _, field := range []sample.Field{sample.EngineActive, sample.SMActive, sample.TensorActive, sample.DRAMActive, sample.GPUUtil} {
		if number, _ := fields[field].Get(); number > 1 {
			t.Errorf("%s = %v, want at most 1", field, number)
		}
	}
}

func checkHolders(t *testing.T, attribution sample.Attribution, holders []sample.Holder) {
	t.Helper()
	if (attribution == sample.AttributionHeld) != (len(holders) > 0) {
		t.Errorf("attribution %v with holders %v", attribution, holders)
	}
}
