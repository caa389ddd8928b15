package dcgm

import (
	"math"
	"strings"
	"testing"

	"wastenot.dev/telemetry/sample"
)

func TestEverySpellingOfBlankIsUnknown(t *testing.T) {
	blanks := map[string][]string{
		"int64":        {"9223372036854775792", "9223372036854775793", "9223372036854775794", "9223372036854775795", "9223372036854775807", "9.223372036854776e+18", "9223372036854775808.000000"},
		"int32":        {"2147483632", "2147483633", "2147483634", "2147483635", "2147483647"},
		"fp64":         {"140737488355328.000000", "140737488355329", "140737488355330", "140737488355331", "140737488355343"},
		"in percent":   {"1.40737488355328e+16", "14073748835532800", "14073748835533100"},
		"unsigned":     {"4294967295", "18446744073709551615"},
		"not a number": {"NaN", "+Inf", "-Inf"},
	}
	for kind, numbers := range blanks {
		for _, number := range numbers {
			t.Run(kind+" "+number, func(t *testing.T) {
				for family, spec := range fieldSpecs {
					batch := read(family + `{gpu="0",UUID="GPU-a"} ` + number + "\n")
					if len(batch.Devices) != 1 {
						t.Fatalf("%s: the device is lost with its value", family)
					}
					if got := batch.Devices[0].Fields[spec.field]; got.IsKnown() {
						t.Errorf("%s %s = %v, want unknown", family, number, got)
					}
					if len(batch.Problems) != 0 {
						t.Errorf("%s %s is reported as a problem: %q", family, number, whys(batch))
					}
				}
			})
		}
	}
}

func TestNumbersNextToBlanksAreNumbers(t *testing.T) {
	for _, number := range []float64{
		0, -1, 100, 2147483631, 2147483648, 4294967294, 4294967296,
		140737488355327, 140737488355344, 1 << 62, 9223372036854774784,
	} {
		if isBlank(number) {
			t.Errorf("isBlank(%v) = true", number)
		}
	}
}

// Raw numbers of each field and what they are in the unit of package sample.
func TestUnitsAndPlausibility(t *testing.T) {
	unknown := math.NaN()
	tests := map[string][]struct {
		raw       string
		want      float64
		wantFault bool
	}{
		"DCGM_FI_PROF_GR_ENGINE_ACTIVE":           {{"0.5", 0.5, false}, {"0", 0, false}, {"1.1", 1, false}, {"1.2", unknown, true}, {"-0.1", unknown, true}},
		"DCGM_FI_PROF_SM_ACTIVE":                  {{"1.04", 1, false}, {"55", unknown, true}},
		"DCGM_FI_DEV_GPU_UTIL":                    {{"91", 0.91, false}, {"100", 1, false}, {"101", unknown, true}, {"-1", unknown, true}},
		"DCGM_FI_DEV_MEM_COPY_UTIL":               {{"7", 0.07, false}},
		"DCGM_FI_DEV_FB_USED":                     {{"4384", 4384 * mib, false}, {"1e12", unknown, true}},
		"DCGM_FI_DEV_POWER_USAGE":                 {{"75.69", 75.69, false}, {"0", unknown, false}, {"30000", unknown, true}},
		"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION":    {{"4742776", 4742.776, false}, {"0", 0, false}},
		"DCGM_FI_DEV_SM_CLOCK":                    {{"1410", 1410e6, false}, {"0", 0, false}},
		"DCGM_FI_DEV_GPU_TEMP":                    {{"31", 31, false}, {"0", unknown, false}, {"300", unknown, true}},
		"DCGM_FI_DEV_MEMORY_TEMP":                 {{"39", 39, false}, {"0", unknown, false}},
		"DCGM_FI_DEV_XID_ERRORS":                  {{"0", 0, false}, {"79", 79, false}, {"79.5", unknown, true}, {"123456", unknown, true}},
		"DCGM_FI_DEV_ROW_REMAP_FAILURE":           {{"1", 1, false}, {"2", unknown, true}},
		"DCGM_FI_DEV_ROW_REMAP_PENDING":           {{"0", 0, false}, {"1", 1, false}},
		"DCGM_FI_DEV_PCIE_REPLAY_COUNTER":         {{"174", 174, false}, {"-1", unknown, true}},
		"DCGM_FI_DEV_THERMAL_VIOLATION":           {{"1500000000", 1.5, false}},
		"DCGM_FI_DEV_POWER_VIOLATION":             {{"250000000", 0.25, false}},
		"DCGM_FI_DEV_CLOCKS_EVENT_REASONS":        {{"72", 0x48, false}, {"0.5", unknown, true}},
		"DCGM_FI_DEV_CLOCK_THROTTLE_REASONS":      {{"1", 1, false}},
		"DCGM_FI_DEV_ECC_SBE_VOL_TOTAL":           {{"3", 3, false}},
		"DCGM_FI_DEV_ECC_DBE_VOL_TOTAL":           {{"1", 1, false}},
		"DCGM_FI_DEV_FB_FREE":                     {{"480", 480 * mib, false}},
		"DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS":   {{"2", 2, false}},
		"DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS": {{"8", 8, false}},
		"DCGM_FI_PROF_PIPE_TENSOR_ACTIVE":         {{"0.25", 0.25, false}},
		"DCGM_FI_PROF_DRAM_ACTIVE":                {{"0.622646", 0.622646, false}},
	}
	for family := range fieldSpecs {
		if len(tests[family]) == 0 {
			t.Errorf("%s has no row", family)
		}
	}
	for family, rows := range tests {
		for _, row := range rows {
			t.Run(family+" "+row.raw, func(t *testing.T) {
				batch := read(family + `{gpu="0",UUID="GPU-a"} ` + row.raw + "\n")
				field := fieldSpecs[family].field
				if got, want := batch.Devices[0].Fields[field], sample.Known(row.want); got != want {
					t.Errorf("%s = %v, want %v", field, got, want)
				}
				fault := len(batch.Problems) == 1 && strings.Contains(batch.Problems[0].Why, "no possible value")
				if fault != row.wantFault || len(batch.Problems) > 1 {
					t.Errorf("problems = %q, want a fault: %v", whys(batch), row.wantFault)
				}
			})
		}
	}
}

func TestMemoryThatIsNeitherUsedNorFreeIsUnknown(t *testing.T) {
	const used, free = `DCGM_FI_DEV_FB_USED{gpu="0",UUID="GPU-a"} `, `DCGM_FI_DEV_FB_FREE{gpu="0",UUID="GPU-a"} `
	tests := map[string]struct {
		body               string
		wantUsed, wantFree string
	}{
		"both 0":         {used + "0\n" + free + "0\n", "unknown", "unknown"},
		"nothing used":   {used + "0\n" + free + "100\n", "0", "1.048576e+08"},
		"nothing free":   {used + "100\n" + free + "0\n", "1.048576e+08", "0"},
		"only used, 0":   {used + "0\n", "0", "unknown"},
		"free is a hole": {used + "0\n" + free + "9223372036854775794\n", "0", "unknown"},
	}
	for label, test := range tests {
		t.Run(label, func(t *testing.T) {
			fields := read(test.body).Devices[0].Fields
			if got := fields[sample.FBUsed].String(); got != test.wantUsed {
				t.Errorf("used = %s, want %s", got, test.wantUsed)
			}
			if got := fields[sample.FBFree].String(); got != test.wantFree {
				t.Errorf("free = %s, want %s", got, test.wantFree)
			}
		})
	}
}
