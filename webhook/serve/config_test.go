package serve

import (
	"errors"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

func testConfigs() *Configs {
	return &Configs{Namespace: "wastenot-system", Checks: map[string]Check{"wastenot-quota": {Key: "quota.yaml", Parse: func(text []byte) error {
		if strings.Contains(string(text), "bad") {
			return errors.New("teams[0].name: bad; teams[1].limits: required")
		}
		return nil
	}}}}
}

func TestConfigs(t *testing.T) {
	const good, bad = "teams: []", "bad"
	tests := map[string]struct {
		namespace, name string
		operation       admissionv1.Operation
		old, text       string
		key             string
		wantMessage     string
		wantWarning     string
	}{
		"good":              {text: good},
		"bad":               {text: bad, wantMessage: "ConfigMap wastenot-quota, quota.yaml: teams[0].name: bad; teams[1].limits: required"},
		"bad on update":     {operation: admissionv1.Update, old: good, text: bad, wantMessage: "ConfigMap wastenot-quota, quota.yaml: teams[0].name: bad; teams[1].limits: required"},
		"bad as it was":     {operation: admissionv1.Update, old: bad, text: bad},
		"no key":            {key: "quota.yml", text: good, wantMessage: "ConfigMap wastenot-quota must have the key quota.yaml: without it the last good configuration stays in force"},
		"deleted":           {operation: admissionv1.Delete, old: good, wantWarning: "stays in force"},
		"another":           {name: "other", text: bad},
		"another namespace": {namespace: "default", text: bad},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			request := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
				Kind: metav1.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, Operation: admissionv1.Create, Namespace: "wastenot-system", Name: "wastenot-quota",
			}}
			if test.operation != "" {
				request.Operation = test.operation
			}
			if test.name != "" {
				request.Name = test.name
			}
			if test.namespace != "" {
				request.Namespace = test.namespace
			}
			key := "quota.yaml"
			if test.key != "" {
				key = test.key
			}
			if test.text != "" {
				request.Object = runtime.RawExtension{Raw: encode(t, &corev1.ConfigMap{Data: map[string]string{key: test.text}})}
			}
			if test.old != "" {
				request.OldObject = runtime.RawExtension{Raw: encode(t, &corev1.ConfigMap{Data: map[string]string{key: test.old}})}
			}
			response := testConfigs().Validate(t.Context(), request)
			if response.Allowed != (test.wantMessage == "") || response.Result.Message != test.wantMessage {
				t.Errorf("answered %v, %q; want %q", response.Allowed, response.Result.Message, test.wantMessage)
			}
			if warnings := strings.Join(response.Warnings, "\n"); !strings.Contains(warnings, test.wantWarning) || (test.wantWarning == "") != (warnings == "") {
				t.Errorf("warnings %q, want %q", warnings, test.wantWarning)
			}
		})
	}
}
