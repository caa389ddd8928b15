package decide

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"wastenot.dev/api/v1alpha1"
)

// Update is all that is known when a change to a pod is judged.
type Update struct {
	Old, New metav1.Object
	// Namespace is the pod's.
	Namespace   string
	Mode        v1alpha1.Mode
	ModeWarning string
}

// Judge decides on the change: what Wastenot stamped stays as it is.
func (u Update) Judge() Decision {
	changed := slices.Concat(
		changedKeys(u.Old.GetLabels(), u.New.GetLabels(), LabelPrefix),
		changedKeys(u.Old.GetAnnotations(), u.New.GetAnnotations(), CostPrefix),
	)
	if len(changed) == 0 {
		return Decision{Outcome: OutcomeAdmitted}
	}
	findings := []Finding{{
		Reason: ReasonFrozen,
		Text:   fmt.Sprintf("%s cannot change once the pod is there: leave it, or create the pod anew", strings.Join(changed, ", ")),
	}}
	c := Create{ModeWarning: u.ModeWarning}
	switch u.Mode {
	case v1alpha1.ModeEnforce:
		return refuse(findings)
	case v1alpha1.ModeWarn:
		return Decision{Outcome: OutcomeWarned, Findings: findings, Warnings: c.warnings(findings)}
	default:
		return Decision{Outcome: OutcomeAdmitted, Findings: findings, Warnings: c.warnings(nil)}
	}
}

// changedKeys returns the keys below the prefix that were added, removed or changed, in
// order.
func changedKeys(before, after map[string]string, prefix string) []string {
	var changed []string
	for key, value := range before {
		if now, there := after[key]; strings.HasPrefix(key, prefix) && (!there || now != value) {
			changed = append(changed, key)
		}
	}
	for key := range after {
		if _, there := before[key]; strings.HasPrefix(key, prefix) && !there {
			changed = append(changed, key)
		}
	}
	slices.Sort(changed)
	return changed
}
