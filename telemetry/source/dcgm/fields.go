package dcgm

import (
	"math"

	"wastenot.dev/telemetry/sample"
)

// scope says what a field's value is about when a row names a MIG instance.
type scope int

const (
	// ofInstance: the value is the instance's own.
	ofInstance scope = iota
	// ofBoard: the value is the board's, repeated on the row of every instance.
	ofBoard
	// ofBoth: the value is about the instance and matters to the board.
	ofBoth
)

// merge says how several rows of one value become one.
type merge int

const (
	// largest: rows are sampled at different instants, and one value copied to
	// many rows is still one value, so the answer is a maximum and never a sum.
	largest merge = iota
	// smallest: as largest, where less is the careful answer.
	smallest
	// union: the value is a bit mask; keep every bit that a row saw.
	union
)

// fieldSpec is how one DCGM field is read. A raw value becomes raw*times/per.
type fieldSpec struct {
	field      sample.Field
	times, per float64
	// max is the largest raw value that the field can have; nothing here can be
	// negative.
	max float64
	// slack is how far above max a raw value is still read as max.
	slack float64
	// whole: a fraction is not a value of this field.
	whole bool
	// zeroIsUnknown: 0 is how a board without the sensor reads.
	zeroIsUnknown bool
	scope         scope
	merge         merge
}

// Limits past which a raw value is a fault of the source, not a reading. They are
// wide on purpose: they catch garbage, not bad hardware.
const (
	maxWatts    = 20_000
	maxCelsius  = 250
	maxMHz      = 10_000
	maxMiB      = 16 << 20 // 16 TiB
	maxXID      = 9_999    // NVIDIA's catalogue ends at 172
	maxCount    = 1 << 53  // what a float64 counts exactly
	maxMilliJ   = 1e16     // 200 years at 1,500 W
	maxNanosecs = 1e18     // 30 years
	ratioSlack  = 0.1
)

func ratio(field sample.Field) fieldSpec {
	// DCGM#152: SM_ACTIVE was seen a little above 1. Up to 1.1 that is an edge of
	// the sampling and reads as 1; beyond, nothing says what it is a ratio of.
	return fieldSpec{field: field, times: 1, per: 1, max: 1, slack: ratioSlack, scope: ofInstance}
}

func percent(field sample.Field) fieldSpec {
	return fieldSpec{field: field, times: 1, per: 100, max: 100, scope: ofInstance}
}

func mebibytes(field sample.Field, how merge) fieldSpec {
	return fieldSpec{field: field, times: 1 << 20, per: 1, max: maxMiB, scope: ofInstance, merge: how}
}

func counter(field sample.Field) fieldSpec {
	return fieldSpec{field: field, times: 1, per: 1, max: maxCount, whole: true, scope: ofBoard}
}

func flag(field sample.Field) fieldSpec {
	return fieldSpec{field: field, times: 1, per: 1, max: 1, whole: true, scope: ofBoard}
}

func sensor(field sample.Field, times, max float64) fieldSpec {
	return fieldSpec{field: field, times: times, per: 1, max: max, scope: ofBoard}
}

// present marks a sensor that never reads 0 where it exists: a board that runs
// draws power and is warmer than ice. MEMORY_TEMP 0 on L4, T4 and A100 vGPU is
// captured in the corpus.
func present(spec fieldSpec) fieldSpec {
	spec.zeroIsUnknown = true
	return spec
}

// nanoseconds is for the *_VIOLATION times. Older DCGM headers say microseconds
// and newer ones nanoseconds for the same field ids; DCGM passes NVML's
// nvmlViolationTime_t.violationTime on, which the NVML reference gives in
// nanoseconds, and so does the help text of dcgm-exporter's default CSV.
func nanoseconds(field sample.Field) fieldSpec {
	return fieldSpec{field: field, times: 1, per: 1e9, max: maxNanosecs, scope: ofBoard}
}

func mask(field sample.Field) fieldSpec {
	return fieldSpec{field: field, times: 1, per: 1, max: maxCount, whole: true, scope: ofBoard, merge: union}
}

// fieldSpecs is the part of DCGM's fields that the product uses. Names and units
// are those of the DCGM API reference (field ids in package sample), not of the
// HELP lines: these are free text of the exporter's CSV, and captures call ratios
// of 0 to 1 "in %".
var fieldSpecs = map[string]fieldSpec{
	"DCGM_FI_PROF_GR_ENGINE_ACTIVE":           ratio(sample.EngineActive),
	"DCGM_FI_PROF_SM_ACTIVE":                  ratio(sample.SMActive),
	"DCGM_FI_PROF_PIPE_TENSOR_ACTIVE":         ratio(sample.TensorActive),
	"DCGM_FI_PROF_DRAM_ACTIVE":                ratio(sample.DRAMActive),
	"DCGM_FI_DEV_GPU_UTIL":                    percent(sample.GPUUtil),
	"DCGM_FI_DEV_MEM_COPY_UTIL":               percent(sample.MemCopyUtil),
	"DCGM_FI_DEV_FB_USED":                     mebibytes(sample.FBUsed, largest),
	"DCGM_FI_DEV_FB_FREE":                     mebibytes(sample.FBFree, smallest),
	"DCGM_FI_DEV_POWER_USAGE":                 present(sensor(sample.Power, 1, maxWatts)),
	"DCGM_FI_DEV_GPU_TEMP":                    present(sensor(sample.GPUTemp, 1, maxCelsius)),
	"DCGM_FI_DEV_MEMORY_TEMP":                 present(sensor(sample.MemTemp, 1, maxCelsius)),
	"DCGM_FI_DEV_SM_CLOCK":                    sensor(sample.SMClock, 1e6, maxMHz),
	"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION":    {field: sample.Energy, times: 1, per: 1000, max: maxMilliJ, scope: ofBoard},
	"DCGM_FI_DEV_XID_ERRORS":                  {field: sample.XID, times: 1, per: 1, max: maxXID, whole: true, scope: ofBoth},
	"DCGM_FI_DEV_ROW_REMAP_FAILURE":           flag(sample.RowRemapFailure),
	"DCGM_FI_DEV_ROW_REMAP_PENDING":           flag(sample.RowRemapPending),
	"DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS":   counter(sample.CorrectableRemaps),
	"DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS": counter(sample.UncorrectableRemaps),
	"DCGM_FI_DEV_PCIE_REPLAY_COUNTER":         counter(sample.PCIeReplays),
	"DCGM_FI_DEV_ECC_SBE_VOL_TOTAL":           counter(sample.ECCSingleBit),
	"DCGM_FI_DEV_ECC_DBE_VOL_TOTAL":           counter(sample.ECCDoubleBit),
	"DCGM_FI_DEV_CLOCKS_EVENT_REASONS":        mask(sample.ClocksEventReasons),
	"DCGM_FI_DEV_CLOCK_THROTTLE_REASONS":      mask(sample.ClocksEventReasons), // its name before DCGM 3.3
	"DCGM_FI_DEV_THERMAL_VIOLATION":           nanoseconds(sample.ThermalViolation),
	"DCGM_FI_DEV_POWER_VIOLATION":             nanoseconds(sample.PowerViolation),
}

// read turns a raw number into a value. plausible is false when the number is no
// spelling of "unknown" and yet cannot be a reading of the field: that is worth a
// problem, and the value is Unknown too.
func (s *fieldSpec) read(raw float64) (value sample.Value, plausible bool) {
	switch {
	case isBlank(raw), s.zeroIsUnknown && raw == 0:
		return sample.Unknown, true
	case raw < 0 || raw > s.max+s.slack:
		return sample.Unknown, false
	case s.whole && raw != math.Trunc(raw):
		return sample.Unknown, false
	default:
		return sample.Known(min(raw, s.max) * s.times / s.per), true
	}
}

// combine merges two values of one field; an unknown one does not count.
func (m merge) combine(a, b sample.Value) sample.Value {
	x, aKnown := a.Get()
	y, bKnown := b.Get()
	switch {
	case !aKnown:
		return b
	case !bKnown:
		return a
	case m == smallest:
		return sample.Known(min(x, y))
	case m == union:
		return sample.Known(float64(uint64(x) | uint64(y)))
	default:
		return sample.Known(max(x, y))
	}
}
