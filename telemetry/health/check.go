package health

import (
	"fmt"
	"slices"
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

const throttledCode = "Throttled"

// hasCheck tells whether a rule beside the XID rule makes findings of the code.
func hasCheck(code string) bool {
	return slices.ContainsFunc(checks, func(c check) bool { return c.code == code })
}

// checks are the rules beside the XID rule, which has one finding per code.
var checks = []check{
	{"RowRemapFailure", nonZero(sample.RowRemapFailure, v1alpha1.GradeFailed, v1alpha1.ActionReplaceDevice,
		"a memory row could not be remapped")},
	{"RowRemapPending", nonZero(sample.RowRemapPending, v1alpha1.GradeDegraded, v1alpha1.ActionResetDevice,
		"a remapped memory row awaits a reset")},
	{"UncorrectableECC", nonZero(sample.ECCDoubleBit, v1alpha1.GradeFailed, v1alpha1.ActionResetDevice,
		"uncorrectable memory errors since the driver was loaded")},
	{throttledCode, throttled},
	{"PCIeReplays", replays},
}

// nonZero makes a check of a reading that is bad whenever it is not 0.
func nonZero(field sample.Field, grade v1alpha1.Grade, action v1alpha1.Action, what string) func(*Tracker, time.Time, *sample.Fields) (answer, Finding) {
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
// Short of a clean reading a finding does not become milder.
func throttled(t *Tracker, now time.Time, f *sample.Fields) (answer, Finding) {
	slowed, known := hardwareSlows(t, f)
	switch {
	case !known:
		t.throttledSince = time.Time{}
		return cannotTell, Finding{}
	case !slowed:
		t.throttledSince = time.Time{}
		return clean, Finding{}
	case t.throttledSince.IsZero():
		t.throttledSince = now
	}
	lasted := now.Sub(t.throttledSince)
	finding := Finding{
		Grade: v1alpha1.GradeSuspect, Action: v1alpha1.ActionContactSupport,
		// A time of day, not a duration: a detail that changed with every pass would make
		// every pass a change of the fleet.
		Detail: "hardware holds the clock down, first at " + t.throttledSince.UTC().Format(time.RFC3339),
	}
	if lasted >= t.policy.ThrottleDegraded {
		finding.Grade = v1alpha1.GradeDegraded
	}
	if standing := t.findings[throttledCode]; standing != nil && standing.Grade.Severity() >= finding.Grade.Severity() {
		return faulty, *standing
	}
	if lasted < t.policy.ThrottleSuspect {
		return cannotTell, Finding{}
	}
	return faulty, finding
}

func hardwareSlows(t *Tracker, f *sample.Fields) (slows, known bool) {
	if reasons, ok := f[sample.ClocksEventReasons].Get(); ok {
		return uint64(reasons)&hardwareSlowdown != 0, true
	}
	share, ok := t.rates.perSecond(sample.ThermalViolation)
	return ok && share > thermalShare, ok
}

// replays grades the rate of PCIe replays; the count itself says nothing.
func replays(t *Tracker, _ time.Time, _ *sample.Fields) (answer, Finding) {
	perSecond, known := t.rates.perSecond(sample.PCIeReplays)
	switch limit := t.policy.PCIeReplaysPerMinute; {
	case !known:
		return cannotTell, Finding{}
	case perSecond*60 > limit:
		return faulty, Finding{
			Grade: v1alpha1.GradeSuspect, Action: v1alpha1.ActionContactSupport,
			// The limit, not the rate, which would change with every window.
			Detail: fmt.Sprintf("more than %g PCIe replays a minute", limit),
		}
	default:
		return clean, Finding{}
	}
}
