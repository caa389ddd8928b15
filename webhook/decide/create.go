package decide

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/quota"
)

// Create is all that is known when a new pod is judged.
type Create struct {
	Pod *corev1.Pod
	// Namespace is the pod's, whose object says whose the pod is.
	Namespace string
	// Mode says what findings lead to, and ModeWarning that the namespace's is none.
	Mode        v1alpha1.Mode
	ModeWarning string
	Owner       Owner
	// Served are the schedulers that hold pods of teams that queue.
	Served []string
	// DemandErr is why the demand is not wholly known, and DemandTransient tells that it
	// may be soon.
	DemandErr       error
	DemandTransient bool
	// Verdict is what the ledger says, and QuotaErr why it says nothing. Both are zero
	// until it was asked.
	Verdict  quota.Verdict
	QuotaErr error
	Price    Price
}

// AskQuota tells whether the ledger is to be asked. A pod that is refused in any case
// must not reserve what another could have.
func (c Create) AskQuota() bool {
	return c.Owner.Known && (c.Mode != v1alpha1.ModeEnforce || !refusable(c.ownership()))
}

// Waits tells whether a scheduler holds the pod while its team has no room. None holds a
// pod that names its node, and others than those that are served hold none.
func (c Create) Waits() bool { return c.Owner.Queues() && c.passes() == "" }

// passes says what takes the pod past the schedulers that would hold it; empty for
// nothing.
func (c Create) passes() string {
	scheduler := cmp.Or(c.Pod.Spec.SchedulerName, corev1.DefaultSchedulerName)
	switch {
	case c.Pod.Spec.NodeName != "":
		return "it names node " + c.Pod.Spec.NodeName
	case !slices.Contains(c.Served, scheduler):
		return fmt.Sprintf("scheduler %s does not hold it, as %s would", scheduler, strings.Join(c.Served, " or "))
	default:
		return ""
	}
}

// Judge decides on the pod.
func (c Create) Judge() Decision {
	findings := append(c.ownership(), c.quota()...)
	if c.Mode == v1alpha1.ModeEnforce && refusable(findings) {
		d := refuse(findings)
		d.Warnings = c.warnings(nil)
		return d
	}
	d := Decision{Outcome: OutcomeAdmitted, Findings: findings}
	if c.Mode == v1alpha1.ModeObserve {
		d.Warnings = c.warnings(nil)
		return d
	}
	d.Warnings = c.warnings(findings)
	if len(findings) > 0 {
		d.Outcome = OutcomeWarned
		return d
	}
	d.Warnings = append(d.Warnings, Warning(fmt.Sprintf("team %s, %s", c.Owner.Team, c.Price)))
	return d
}

func (c Create) warnings(findings []Finding) []string {
	var warnings []string
	if c.ModeWarning != "" {
		warnings = append(warnings, Warning(c.ModeWarning))
	}
	for _, finding := range findings {
		warnings = append(warnings, Warning(finding.Text))
	}
	return warnings
}

// ownership returns what is wrong before quota is asked.
func (c Create) ownership() []Finding {
	var findings []Finding
	add := func(reason Reason, format string, args ...any) {
		findings = append(findings, Finding{Reason: reason, Text: fmt.Sprintf(format, args...)})
	}
	switch {
	case c.Owner.Team == "":
		add(ReasonTeamMissing, "namespace %s has no team: set its label %s to a team of %s", c.Namespace, v1alpha1.LabelTeam, v1alpha1.QuotaConfigMap)
	case !c.Owner.Known:
		add(ReasonTeamUnknown, "team %s of namespace %s is not in %s: add it there, or correct the namespace's label %s",
			c.Owner.Team, c.Namespace, v1alpha1.QuotaConfigMap, v1alpha1.LabelTeam)
	}
	if named, there := c.Pod.Labels[v1alpha1.LabelTeam]; there && named != c.Owner.Team {
		add(ReasonTeamDiffers, "the pod says %s=%s, but namespace %s stands for %s: take the label off the pod or its template",
			v1alpha1.LabelTeam, named, c.Namespace, cmp.Or(c.Owner.Team, "no team"))
	}
	// Where there is no team, the remedy for the team is the first to take.
	if c.Owner.Owner == "" && c.Owner.Known {
		add(ReasonOwnerMissing, "team %s has no owner: set %s on namespace %s, or owner in %s",
			c.Owner.Team, v1alpha1.LabelOwner, c.Namespace, v1alpha1.QuotaConfigMap)
	}
	if c.DemandErr != nil {
		findings = append(findings, Finding{
			Reason: ReasonClaimsUnknown, Transient: c.DemandTransient,
			Text: fmt.Sprintf("what the pod asks for cannot be counted: %v", c.DemandErr),
		})
	}
	return findings
}

// quota returns what the ledger has against the pod. Who waits does so also while the
// ledger is out of reach.
func (c Create) quota() []Finding {
	waits := c.Waits() && !c.Verdict.NeverFits()
	switch {
	case c.QuotaErr != nil:
		return []Finding{{
			Reason: ReasonQuotaUnavailable, Waits: waits, Transient: true,
			Text: fmt.Sprintf("the quota of team %s cannot be checked now: %v%s; try again", c.Owner.Team, c.QuotaErr, c.cannotWait()),
		}}
	case c.Verdict.Outcome == quota.Over:
		return []Finding{{Reason: ReasonQuotaExceeded, Waits: waits, Text: c.overText()}}
	case c.Verdict.Outcome == quota.Busy:
		return []Finding{{Reason: ReasonQuotaBusy, Waits: waits, Transient: true, Text: c.busyText()}}
	default:
		return nil
	}
}
