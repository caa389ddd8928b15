package decide

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Outcome is what became of a request.
type Outcome string

// The outcomes.
const (
	// OutcomeIgnored: the request is not about accelerators.
	OutcomeIgnored Outcome = "ignored"
	// OutcomeExempt: the caller is let through.
	OutcomeExempt Outcome = "exempt"
	// OutcomeAdmitted: nothing is wrong, or nothing comes of it in this mode.
	OutcomeAdmitted Outcome = "admitted"
	// OutcomeWarned: admitted with a warning.
	OutcomeWarned Outcome = "warned"
	// OutcomeRefused: not admitted.
	OutcomeRefused Outcome = "refused"
)

// Reason names one thing that is wrong with a request.
type Reason string

// The reasons, in the order in which they are told.
const (
	ReasonNone Reason = ""
	// ReasonTeamMissing: the namespace names no team.
	ReasonTeamMissing Reason = "TeamMissing"
	// ReasonTeamUnknown: the namespace names a team that is not configured.
	ReasonTeamUnknown Reason = "TeamUnknown"
	// ReasonTeamDiffers: the pod names another team than its namespace.
	ReasonTeamDiffers Reason = "TeamDiffers"
	// ReasonOwnerMissing: nobody says who owns the pod.
	ReasonOwnerMissing Reason = "OwnerMissing"
	// ReasonClaimsUnknown: what a claim asks for cannot be found.
	ReasonClaimsUnknown Reason = "ClaimsUnknown"
	// ReasonQuotaExceeded: the team is full.
	ReasonQuotaExceeded Reason = "QuotaExceeded"
	// ReasonQuotaBusy: only pods that are being admitted are in the way.
	ReasonQuotaBusy Reason = "QuotaBusy"
	// ReasonQuotaUnavailable: the team's ledger cannot be read or written.
	ReasonQuotaUnavailable Reason = "QuotaUnavailable"
	// ReasonNamespaceUnreadable: the namespace, and with it the mode, cannot be read.
	ReasonNamespaceUnreadable Reason = "NamespaceUnreadable"
	// ReasonFrozen: an update changes what Wastenot stamped.
	ReasonFrozen Reason = "Frozen"
)

// Finding is one thing that is wrong, with its remedy.
type Finding struct {
	Reason Reason
	// Text says in one clause what is wrong and what to do.
	Text string
	// Waits tells that the scheduler holds the pod until it is right: no mode refuses it.
	Waits bool
	// Transient tells that the same request may pass soon.
	Transient bool
}

// Decision is what is answered.
type Decision struct {
	Outcome Outcome
	// Code is the HTTP status of a refusal: 403, or 429 where the same request may pass
	// soon.
	Code int32
	// Message says why a pod was refused. It is never empty then.
	Message string
	// Warnings are for the person who sent the request.
	Warnings []string
	// Findings are all that is wrong, also where nothing comes of it.
	Findings []Finding
}

// Allowed tells whether the request passes.
func (d Decision) Allowed() bool { return d.Outcome != OutcomeRefused }

// Reason is the first of the findings' reasons, or none.
func (d Decision) Reason() Reason {
	if len(d.Findings) == 0 {
		return ReasonNone
	}
	return d.Findings[0].Reason
}

// Unreadable decides on a pod whose namespace cannot be read: it is refused where the
// path is for namespaces that enforce, and passes elsewhere.
func Unreadable(enforced bool, err error) Decision {
	findings := []Finding{{
		Reason: ReasonNamespaceUnreadable, Transient: true,
		Text: fmt.Sprintf("the pod cannot be judged now: %v; try again", err),
	}}
	if enforced {
		return refuse(findings)
	}
	return Decision{Outcome: OutcomeAdmitted, Findings: findings}
}

// refuse makes a refusal of the findings.
func refuse(findings []Finding) Decision {
	d := Decision{Outcome: OutcomeRefused, Code: http.StatusForbidden, Findings: findings}
	var texts []string
	transient := true
	for _, finding := range findings {
		if finding.Waits {
			continue
		}
		texts = append(texts, finding.Text)
		transient = transient && finding.Transient
	}
	if transient {
		d.Code = http.StatusTooManyRequests
	}
	d.Message = strings.Join(texts, "; also, ")
	return d
}

// refusable tells whether any finding is refused where findings are.
func refusable(findings []Finding) bool {
	return slices.ContainsFunc(findings, func(f Finding) bool { return !f.Waits })
}
