package decide

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"wastenot.dev/api/v1alpha1"
)

// CostPrefix begins the keys of all annotations that hold a price.
const CostPrefix = "cost.wastenot.dev/"

// LabelPrefix begins the keys of all our labels.
const LabelPrefix = "wastenot.dev/"

// Operation is one step of a JSON patch (RFC 6902).
type Operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// Stamp is what a new accelerator pod is given.
type Stamp struct {
	// Namespace is the pod's, for the words.
	Namespace string
	// Owner gives the labels.
	Owner Owner
	// Cost are the annotations of the price. All others below CostPrefix are removed.
	Cost map[string]string
	// Scheduler is who places the pod; empty leaves it to whom it names.
	Scheduler string
}

// Patch returns what must change in the pod, and what its user should know of it. It
// returns nothing for a pod that bears the stamp already.
//
// A patch names only what it changes: a pod that was decoded and encoded again would
// lose the fields of API servers that are newer than this binary.
func (s Stamp) Patch(pod *corev1.Pod) (operations []Operation, warnings []string) {
	labels, warnings := s.labels(pod)
	operations = append(operations, patchMap("/metadata/labels", pod.Labels, labels, nil)...)
	var stale []string
	for _, key := range slices.Sorted(maps.Keys(pod.Annotations)) {
		if _, wanted := s.Cost[key]; strings.HasPrefix(key, CostPrefix) && !wanted {
			stale = append(stale, key)
		}
	}
	operations = append(operations, patchMap("/metadata/annotations", pod.Annotations, s.Cost, stale)...)
	named := pod.Spec.SchedulerName
	if s.Scheduler != "" && named != s.Scheduler && (named == "" || named == corev1.DefaultSchedulerName) && pod.Spec.NodeName == "" {
		operations = append(operations, Operation{Op: "add", Path: "/spec/schedulerName", Value: s.Scheduler})
	}
	return operations, warnings
}

// labels returns the labels that the pod is given. What differs is replaced, except on
// a pod of a controller: a ReplicaSet whose selector names the label would not know the
// pod again, and would make another, without end. Validation tells the difference.
func (s Stamp) labels(pod *corev1.Pod) (labels map[string]string, warnings []string) {
	labels = map[string]string{}
	for _, label := range []struct{ key, value string }{
		{v1alpha1.LabelTeam, s.Owner.Team}, {v1alpha1.LabelOwner, s.Owner.Owner}, {v1alpha1.LabelCostCenter, s.Owner.CostCenter},
	} {
		// What is no label value, such as an e-mail address, would make the pod invalid.
		if label.value == "" || len(validation.IsValidLabelValue(label.value)) > 0 {
			continue
		}
		old, there := pod.Labels[label.key]
		differs := there && old != label.value
		if differs && metav1.GetControllerOf(pod) != nil {
			continue
		}
		labels[label.key] = label.value
		if differs {
			warnings = append(warnings, Warning(fmt.Sprintf("label %s=%s was replaced by %s, which namespace %s stands for", label.key, old, label.value, s.Namespace)))
		}
	}
	return labels, warnings
}

// patchMap returns the operations that set what is wanted and remove what is stale.
func patchMap(path string, have, want map[string]string, stale []string) []Operation {
	var operations []Operation
	for _, key := range stale {
		operations = append(operations, Operation{Op: "remove", Path: path + "/" + escape(key)})
	}
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if old, there := have[key]; there && old == want[key] {
			continue
		}
		operations = append(operations, Operation{Op: "add", Path: path + "/" + escape(key), Value: want[key]})
	}
	if len(operations) > 0 && len(have) == 0 {
		// An empty map is not sent, so there is nothing to add to.
		operations = slices.Insert(operations, 0, Operation{Op: "add", Path: path, Value: map[string]string{}})
	}
	return operations
}

// escape makes a key one part of a JSON pointer (RFC 6901).
func escape(key string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}
