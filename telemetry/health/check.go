package health

import (
	"fmt"
	"time"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/telemetry/sample"
)

// answer is what one check reads in one pass.
type answer int

const (
	// cannotTell: the reading is unknown, so it neither starts nor ends anything.
	cannotTell answer = iota
	// clean: the reading is known and says nothing against the device.
	clean
	// faulty: the reading counts against the device.
	faulty
)

// check is one rule over a device's readings. It returns its answer for the code
// that it is asked about and the finding when it is faulty.
type check struct {
	// code is the finding that the check makes and ends.
	code string
	run  func(t *Tracker, now time.Time, f *sample.Fields) (answer, Finding)
}

// checks are the rules beside the XID rule, which has one finding per code.
var checks = []check{
	{"RowRemapFailure", flag(sample.RowRemapFailure, v1alpha1.GradeFailed, v1alpha1.ActionReplaceDevice,
		"a memory row could not be remapped")},
	{"RowRemapPending", flag(sample.RowRemapPending, v1alpha1.GradeDegraded, v1alpha1.ActionResetDevice,
		"a remapped memory row awaits a reset")},
	{"UncorrectableECC", flag(sample.ECCDoubleBit, v1alpha1.GradeFailed, v1alpha1.ActionResetDevice,
		"uncorrectable memory errors since the driver was loaded")},
	{"Throttled", throttled},
	{"PCIeReplays", replays},
}

// flag makes a check of a reading that is bad whenever it is not 0.
func flag(field sample.Field, grade v1alpha1.Grade, action v1alpha1.Action, what string) func(*Tracker, time.Time, *sample.Fields) (answer, Finding) {
	return func(_ *Tracker, _ time.Time, f *sample.Fields) (answer, Finding) {
		number, known := f[field].Get()
		switch {
		case !known:
			return cannotTell, Finding{}
		case number > 0:
			return faulty, Finding{Grade: grade, Action: action, Detail: fmt.Sprintf("%s (%g)", what, number)}
		default:
			return clean, Finding{}
		}
	}
}

// Bits of NVML's clocks event reasons that mean that hardware holds the clock down:
// hardware slowdown, thermal slowdown, power brake. Idle (0x1) and the software
// power cap (0x4) are normal. Source: nvml.h, nvmlClocksEventReasons.
const hardwareSlowdown = 0x8 | 0x40 | 0x80

// thermalShare is the share of time under thermal violation that counts as throttled.
const thermalShare = 0.1

// throttled grades by how long hardware has held the clock down without a break.
func throttled(t *Tracker, now time.Time, f *sample.Fields) (answer, Finding) {
	slowed, known := hardwareSlows(t, now, f)
	if !known {
		return cannotTell, Finding{}
	}
	if !slowed {
		t.throttledSince = time.Time{}
		return clean, Finding{}
	}
	if t.throttledSince.IsZero() {
		t.throttledSince = now
	}
	lasted := now.Sub(t.throttledSince)
	finding := Finding{
		Grade: v1alpha1.GradeSuspect, Action: v1alpha1.ActionContactSupport,
		// A time of day, not a duration: a detail that changed with every pass would make
		// every pass a change of the fleet.
		Detail: "hardware has held the clock down since " + t.throttledSince.UTC().Format(time.RFC3339),
	}
	switch {
	case lasted >= t.policy.ThrottleDegraded:
		finding.Grade = v1alpha1.GradeDegraded
	case lasted < t.policy.ThrottleSuspect:
		return cannotTell, Finding{}
	}
	return faulty, finding
}

func hardwareSlows(t *Tracker, now time.Time, f *sample.Fields) (slows, known bool) {
	if reasons, ok := f[sample.ClocksEventReasons].Get(); ok {
		return uint64(reasons)&hardwareSlowdown != 0, true
	}
	rate, ok := t.rate(sample.ThermalViolation, now, f)
	return ok && rate > thermalShare, ok
}

// replays grades the rate of PCIe replays; the count itself says nothing.
func replays(t *Tracker, now time.Time, f *sample.Fields) (answer, Finding) {
	rate, known := t.rate(sample.PCIeReplays, now, f)
	switch perMinute := rate * 60; {
	case !known:
		return cannotTell, Finding{}
	case perMinute > t.policy.PCIeReplaysPerMinute:
		return faulty, Finding{
			Grade: v1alpha1.GradeSuspect, Action: v1alpha1.ActionContactSupport,
			Detail: fmt.Sprintf("%.0f PCIe replays a minute", perMinute),
		}
	default:
		return clean, Finding{}
	}
}
