package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"wastenot.dev/webhook/decide"
)

// Check is what a ConfigMap of ours must be.
type Check struct {
	// Key is where the configuration is, and Parse reads it. Its error names every fault
	// with its path.
	Key   string
	Parse func([]byte) error
}

// Configs answers for our own ConfigMaps, so that a mistake is told to whoever makes it.
type Configs struct {
	// Namespace is the only one that is judged.
	Namespace string
	// Checks are by the name of the ConfigMap. Others pass.
	Checks map[string]Check
}

// Validate judges a change to a ConfigMap.
func (c *Configs) Validate(_ context.Context, req admission.Request) admission.Response {
	if req.Kind.Group != "" || req.Kind.Kind != "ConfigMap" {
		return malformed(fmt.Errorf("the request holds no ConfigMap; this path is for them alone: got %s", req.Kind.Kind))
	}
	check, ours := c.Checks[req.Name]
	if !ours || req.Namespace != c.Namespace {
		return admission.Allowed("")
	}
	if req.Operation == admissionv1.Delete {
		return admission.Allowed("").WithWarnings(decide.Warning(fmt.Sprintf(
			"what %s says now stays in force until wastenot-webhook starts anew; then it is missing", req.Name)))
	}
	return judgeConfig(req, check)
}

func judgeConfig(req admission.Request, check Check) admission.Response {
	text, has, err := textOf(req.Object.Raw, check.Key)
	if err != nil {
		return malformed(err)
	}
	if !has {
		return invalid(fmt.Sprintf("ConfigMap %s must have the key %s: without it the last good configuration stays in force", req.Name, check.Key))
	}
	// A fault that is there already does not keep anyone from changing a label.
	if old, had, err := textOf(req.OldObject.Raw, check.Key); err == nil && had && old == text {
		return admission.Allowed("")
	}
	if err := check.Parse([]byte(text)); err != nil {
		return invalid(fmt.Sprintf("ConfigMap %s, %s: %v", req.Name, check.Key, err))
	}
	return admission.Allowed("")
}

func textOf(raw []byte, key string) (text string, has bool, err error) {
	if len(raw) == 0 {
		return "", false, nil
	}
	config := &corev1.ConfigMap{}
	if err := json.Unmarshal(raw, config); err != nil {
		return "", false, fmt.Errorf("decoding the config map: %w", err)
	}
	text, has = config.Data[key]
	return text, has, nil
}

func invalid(message string) admission.Response {
	return admission.Response{AdmissionResponse: admissionv1.AdmissionResponse{Result: &metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid, Message: message,
	}}}
}
