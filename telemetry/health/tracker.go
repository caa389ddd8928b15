package health

import (
	"fmt"
	"strings"
	"time"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/telemetry/sample"
)

const xidPrefix = "XID"

// Tracker remembers what counts against one device. It is not safe for concurrent
// use; its owner serialises.
type Tracker struct {
	policy   *Policy
	findings map[string]*Finding

	observedAt time.Time
	budget     time.Duration
	// judged tells that the last pass had a reading that can prove health.
	judged         bool
	vendorExcludes bool
	throttledSince time.Time
	// counters are the last known readings of counters, for rates.
	counters map[sample.Field]counter
}

type counter struct {
	value float64
	at    time.Time
}

// NewTracker returns a tracker that knows nothing.
func NewTracker(policy *Policy) *Tracker {
	return &Tracker{policy: policy, findings: map[string]*Finding{}, counters: map[sample.Field]counter{}}
}

// Seed restores a finding from a durable record, so that a new process does not
// forgive what an old one saw.
func (t *Tracker) Seed(finding Finding, vendorExcludes bool) {
	t.findings[finding.Code] = &finding
	t.vendorExcludes = t.vendorExcludes || vendorExcludes
}

// Observe takes one pass of readings, made at observedAt and good for budget.
// Passes must come in order of time; an older one is ignored.
func (t *Tracker) Observe(source string, observedAt time.Time, budget time.Duration, fields *sample.Fields) {
	if !observedAt.After(t.observedAt) {
		return
	}
	if !t.observedAt.IsZero() && observedAt.Sub(t.observedAt) > budget {
		t.interrupt()
	}
	t.observeXID(source, observedAt, fields)
	for _, c := range checks {
		answer, finding := c.run(t, observedAt, fields)
		finding.Code = c.code
		t.settle(source, observedAt, answer, finding)
	}
	t.remember(observedAt, fields)
	t.observedAt, t.budget = observedAt, budget
	t.judged = fields[sample.XID].IsKnown()
}

// interrupt restarts every probation: nobody looked for longer than a reading lasts.
func (t *Tracker) interrupt() {
	for _, f := range t.findings {
		f.CleanSince = time.Time{}
	}
	t.throttledSince = time.Time{}
}

// observeXID reads the gauge of the last XID. It is sticky: another code does not
// end a finding, only 0 does, which the gauge shows after a reset or a new driver.
func (t *Tracker) observeXID(source string, now time.Time, fields *sample.Fields) {
	number, known := fields[sample.XID].Get()
	current := ""
	if known && number > 0 {
		rule := t.policy.rule(int(number))
		t.vendorExcludes = t.vendorExcludes || !rule.PluginIgnores
		if rule.Grade.Severity() > 0 {
			current = fmt.Sprintf("%s%d", xidPrefix, rule.Code)
			t.settle(source, now, faulty, Finding{
				Code: current, Grade: rule.Grade, Action: rule.Action, Detail: fmt.Sprintf("XID %d: %s", rule.Code, rule.Name),
			})
		}
	}
	if known && number == 0 {
		t.vendorExcludes = false
	}
	for code := range t.findings {
		if !strings.HasPrefix(code, xidPrefix) || code == current {
			continue
		}
		verdict := cannotTell
		if known && number == 0 {
			verdict = clean
		}
		t.settle(source, now, verdict, Finding{Code: code})
	}
}

// settle applies one answer to the finding of its code.
func (t *Tracker) settle(source string, now time.Time, answer answer, finding Finding) {
	existing := t.findings[finding.Code]
	switch {
	case answer == faulty:
		finding.Source, finding.FirstSeen = source, now
		if existing != nil {
			finding.FirstSeen = existing.FirstSeen
		}
		t.findings[finding.Code] = &finding
	case existing == nil:
	case answer == cannotTell:
		existing.CleanSince = time.Time{}
	case existing.CleanSince.IsZero():
		existing.CleanSince = now
	}
	if existing = t.findings[finding.Code]; existing != nil && !existing.CleanSince.IsZero() && now.Sub(existing.CleanSince) >= t.policy.Probation {
		delete(t.findings, finding.Code)
	}
}

// rate is the growth of a counter per second since the last pass. A counter that
// fell was reset with the driver; its rate is unknown for one pass.
func (t *Tracker) rate(field sample.Field, now time.Time, fields *sample.Fields) (float64, bool) {
	number, known := fields[field].Get()
	last, seen := t.counters[field]
	elapsed := now.Sub(last.at).Seconds()
	if !known || !seen || elapsed <= 0 || number < last.value {
		return 0, false
	}
	return (number - last.value) / elapsed, true
}

func (t *Tracker) remember(now time.Time, fields *sample.Fields) {
	for _, field := range []sample.Field{sample.PCIeReplays, sample.ThermalViolation} {
		if number, known := fields[field].Get(); known {
			t.counters[field] = counter{value: number, at: now}
		}
	}
}

// Verdict grades the device as of now. Readings past their budget make it Unknown,
// but a finding of Failed stands until evidence ends it.
func (t *Tracker) Verdict(now time.Time) Verdict {
	verdict := Verdict{Grade: v1alpha1.GradeHealthy, Action: v1alpha1.ActionNone, VendorExcludes: t.vendorExcludes}
	for _, f := range t.findings {
		verdict.Findings = append(verdict.Findings, *f)
	}
	sortFindings(verdict.Findings)
	if len(verdict.Findings) > 0 {
		worst := verdict.Findings[0]
		verdict.Grade, verdict.Action = worst.Grade, worst.Action
		verdict.OnProbation = !verdict.CleanSince().IsZero()
	}
	if verdict.Grade == v1alpha1.GradeFailed {
		return verdict
	}
	switch {
	case t.observedAt.IsZero():
		verdict.Grade, verdict.Why = v1alpha1.GradeUnknown, "nothing was read yet"
	case now.Sub(t.observedAt) > t.budget:
		verdict.Grade, verdict.Why = v1alpha1.GradeUnknown, "last read at "+t.observedAt.UTC().Format(time.RFC3339)
	case len(verdict.Findings) == 0 && !t.judged:
		verdict.Grade, verdict.Why = v1alpha1.GradeUnknown, "the source does not report XID"
	}
	return verdict
}
