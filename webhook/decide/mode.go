package decide

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"wastenot.dev/api/v1alpha1"
)

// ModeOf returns the namespace's mode, observe where it says none. A value that is no
// mode counts as observe too, so that a typing error never refuses anything; the
// warning then names it.
func ModeOf(namespace *corev1.Namespace) (mode v1alpha1.Mode, warning string) {
	switch value := namespace.Labels[v1alpha1.LabelMode]; v1alpha1.Mode(value) {
	case v1alpha1.ModeObserve, v1alpha1.ModeWarn, v1alpha1.ModeEnforce:
		return v1alpha1.Mode(value), ""
	case "":
		return v1alpha1.ModeObserve, ""
	default:
		return v1alpha1.ModeObserve, fmt.Sprintf("%s=%s of namespace %s is no mode, so it only observes: use observe, warn or enforce",
			v1alpha1.LabelMode, value, namespace.Name)
	}
}
