package dcgm

import "math"

// The values that DCGM writes for "blank" and its reasons (not found, not
// supported, not permissioned), from the DCGM API header dcgm_structs.h: each is a base and
// the few numbers after it. dcgm-exporter filters them; older versions and other
// readers leak them (NVIDIA/dcgm-exporter README, gpu-monitoring-tools#152).
const (
	blankSpan = 15

	// int64Blank is 0x7ffffffffffffff0. As float64 it is 2^63, the same as every
	// integer of the range, so it is compared by order and not for equality.
	int64Blank = 1<<63 - 16
	// int32Blank is 0x7ffffff0.
	int32Blank = 1<<31 - 16
	// fp64Blank is 2^47.
	fp64Blank = 1 << 47
	// percentBlank is fp64Blank after a reader turned a ratio into percent.
	percentBlank = fp64Blank * 100
	// uint32Blank is -1 read as unsigned (NVIDIA/DCGM#199).
	uint32Blank = 1<<32 - 1
)

// isBlank tells whether a number is one of the spellings of "no value". The
// ranges overlap no reading of the fields in use except for an instant: a counter
// in nanoseconds or millijoules that passes 2^31 or 2^32 is unknown for the one
// pass that meets it.
func isBlank(number float64) bool {
	switch {
	case math.IsNaN(number), math.IsInf(number, 0):
		return true
	case number >= int64Blank:
		return true
	case number >= int32Blank && number <= int32Blank+blankSpan:
		return true
	case number >= fp64Blank && number <= fp64Blank+blankSpan:
		return true
	case number >= percentBlank && number <= percentBlank+100*blankSpan:
		return true
	default:
		return number == uint32Blank
	}
}
