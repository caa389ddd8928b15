package health

import (
	"fmt"
	"time"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/telemetry/sample"
)

// Tracker remembers what counts against one device. It is not safe for concurrent
// use; its owner serialises.
type Tracker struct {
	policy   *Policy
	findings map[string]*Finding

	observedAt time.Time
	budget     time.Duration
	// unjudged says why the last pass had no reading that can prove health; empty when
	// it had one.
	unjudged string

	vendorExcludes bool
	throttledSince time.Time
	rates          rates
}

// NewTracker returns a tracker that knows nothing.
func NewTracker(policy *Policy) *Tracker {
	return &Tracker{policy: policy, findings: map[string]*Finding{}, rates: rates{}}
}

// Seed restores a finding from a durable record, so that a new process does not
// forgive what an old one saw. XID findings are graded by today's policy; one that
// it no longer counts is left out.
func (t *Tracker) Seed(finding Finding, vendorExcludes bool) {
	t.vendorExcludes = t.vendorExcludes || vendorExcludes
	if code, isXID := xidOf(finding.Code); isXID {
		rule := t.policy.rule(code)
		if rule.Grade.Severity() == 0 {
			return
		}
		finding.Grade, finding.Action = rule.Grade, rule.Action
	}
	t.findings[finding.Code] = &finding
}

// Observe takes one pass of readings, made at observedAt and good for budget.
// Passes must come in order of time; an older one is ignored.
func (t *Tracker) Observe(source string, observedAt time.Time, budget time.Duration, fields *sample.Fields) {
	if !observedAt.After(t.observedAt) {
		return
	}
	if !t.observedAt.IsZero() && observedAt.Sub(t.observedAt) > t.budget {
		t.interrupt()
	}
	t.rates.observe(observedAt, budget, fields)
	t.observeXID(source, observedAt, fields[sample.XID])
	for _, c := range checks {
		answer, finding := c.run(t, observedAt, fields)
		finding.Code = c.code
		t.settle(source, observedAt, answer, finding)
	}
	t.settleForeign(source, observedAt)
	t.observedAt, t.budget = observedAt, budget
}

// interrupt restarts whatever must last without a gap: nobody looked for longer than
// a reading is believed.
func (t *Tracker) interrupt() {
	for _, f := range t.findings {
		f.CleanSince = time.Time{}
	}
	t.throttledSince = time.Time{}
	clear(t.rates)
}

// observeXID reads the gauge of the last XID. It is sticky: another code does not
// end a finding, only 0 does, which the gauge shows after a reset or a new driver.
func (t *Tracker) observeXID(source string, now time.Time, gauge sample.Value) {
	number, known := gauge.Get()
	current, others := "", cannotTell
	t.unjudged = ""
	switch {
	case !known:
		t.unjudged = "the source does not report XID"
	case number == 0:
		t.vendorExcludes, others = false, clean
	case number > 0:
		current = t.xidSeen(source, now, t.policy.rule(int(number)))
	}
	for code := range t.findings {
		if _, isXID := xidOf(code); isXID && code != current {
			t.settle(source, now, others, Finding{Code: code})
		}
	}
}

// xidSeen takes one code and returns the finding that it makes, "" for none.
func (t *Tracker) xidSeen(source string, now time.Time, rule XIDRule) string {
	t.vendorExcludes = t.vendorExcludes || !rule.PluginIgnores
	if rule.Grade == v1alpha1.GradeUnknown {
		t.unjudged = fmt.Sprintf("the last XID, %d, hides the code that it followed", rule.Code)
	}
	if rule.Grade.Severity() == 0 {
		return ""
	}
	code := xidCode(rule.Code)
	t.settle(source, now, faulty, Finding{
		Code: code, Grade: rule.Grade, Action: rule.Action, Detail: fmt.Sprintf("XID %d: %s", rule.Code, rule.Name),
	})
	return code
}

// settleForeign ends findings that no rule of this version makes, which another
// version recorded: a pass that can prove health is clean of them.
func (t *Tracker) settleForeign(source string, now time.Time) {
	verdict := cannotTell
	if t.unjudged == "" {
		verdict = clean
	}
	for code := range t.findings {
		if _, isXID := xidOf(code); !isXID && !hasCheck(code) {
			t.settle(source, now, verdict, Finding{Code: code})
		}
	}
}

// settle applies one answer to the finding of its code.
func (t *Tracker) settle(source string, now time.Time, answer answer, finding Finding) {
	existing := t.findings[finding.Code]
	switch {
	case answer == faulty:
		finding.Source, finding.FirstSeen, finding.CleanSince = source, now, time.Time{}
		if existing != nil {
			finding.FirstSeen = existing.FirstSeen
		}
		t.findings[finding.Code] = &finding
	case existing == nil:
	case answer == cannotTell:
		existing.CleanSince = time.Time{}
	case existing.CleanSince.IsZero():
		existing.CleanSince = now
	case now.Sub(existing.CleanSince) >= t.policy.Probation:
		delete(t.findings, finding.Code)
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
	case len(verdict.Findings) == 0 && t.unjudged != "":
		verdict.Grade, verdict.Why = v1alpha1.GradeUnknown, t.unjudged
	}
	return verdict
}
