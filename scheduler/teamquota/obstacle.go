package teamquota

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/quota"
)

// obstacle is why a pod may not be bound.
type obstacle struct {
	message string
	// in is what has to change. Events of one pod with the same in are gathered under the
	// first one's message, so each kind of obstacle has its own.
	in *corev1.ObjectReference
}

func inNamespace(s *subject, message string) *obstacle {
	return &obstacle{message, &corev1.ObjectReference{APIVersion: "v1", Kind: "Namespace", Name: s.namespace}}
}

func inLedger(s *subject, field, message string) *obstacle {
	return &obstacle{message, &corev1.ObjectReference{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: "QuotaLedger", Name: s.team, FieldPath: field,
	}}
}

// full is the obstacle of a team without room, by the limits that it meets; nil for none.
func full(s *subject, shortages []quota.Shortage) *obstacle {
	if len(shortages) == 0 {
		return nil
	}
	limits, texts := make([]string, len(shortages)), make([]string, len(shortages))
	for i, shortage := range shortages {
		limits[i], texts[i] = shortage.Class, shortage.String()
	}
	return inLedger(s, fmt.Sprintf("spec.limits{%s}", strings.Join(limits, ",")),
		fmt.Sprintf("team %s is full: %s; the pod waits until it fits", s.team, strings.Join(texts, "; ")))
}
