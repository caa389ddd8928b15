package serve

import (
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiserver "k8s.io/apiserver/pkg/admission/plugin/webhook/request"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"wastenot.dev/quota"
)

// TestOnlyTheEnforcingPathRefusesWhatIsNotJudged: a fault of ours or an odd request keeps
// nobody from anything where the API server would ignore that we are gone.
func TestOnlyTheEnforcingPathRefusesWhatIsNotJudged(t *testing.T) {
	log.SetLogger(klog.Logger{})
	kind := func(name string) func(*admission.Request) {
		return func(r *admission.Request) { r.Kind.Kind = name }
	}
	tests := map[string]struct {
		change    func(*admission.Request)
		panics    bool
		wantCause string
		wantCode  int32
		wantText  string
	}{
		"panic":       {panics: true, wantCause: CausePanic, wantCode: 500, wantText: "the webhook failed on this request; its log says why"},
		"wrong kind":  {change: kind("Deployment"), wantCause: CauseUnreadable, wantCode: 400, wantText: "got \"Deployment\""},
		"no object":   {change: func(r *admission.Request) { r.Object.Raw = nil }, wantCause: CauseUnreadable, wantCode: 400, wantText: "holds no "},
		"no JSON":     {change: func(r *admission.Request) { r.Object.Raw = []byte(`"hello"`) }, wantCause: CauseUnreadable, wantCode: 400, wantText: "decoding the "},
		"no old JSON": {change: func(r *admission.Request) { r.Operation, r.OldObject.Raw = admissionv1.Update, []byte(`"hello"`) }, wantCause: CauseUnreadable, wantCode: 400, wantText: "the old object"},
	}
	for name, test := range tests {
		for _, path := range paths {
			if name == "no old JSON" && (path == PathMutatePods || path == PathValidateConfig) || name == "no object" && path == PathValidateConfig {
				continue // There it is not read, or its lack is what is judged.
			}
			t.Run(name+" at "+path, func(t *testing.T) {
				pods, configs := newWorld().pods(t), testConfigs()
				asked := creating(t, "strict", gpuPod("1"))
				if path == PathValidateConfig {
					asked.Namespace, asked.Name, asked.Kind = configs.Namespace, "wastenot-quota", metav1.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
				}
				if test.change != nil {
					test.change(&asked)
				}
				if test.panics {
					pods.Config = func() *quota.Config { panic("a secret") }
					configs.Checks["wastenot-quota"] = Check{Key: "quota.yaml", Parse: func([]byte) error { panic("a secret") }}
					if path == PathValidateConfig {
						asked.Object.Raw = []byte(`{"data":{"quota.yaml":"x"}}`)
					}
				}
				var notes []string
				response := post(t, Handlers(pods, configs, func(path, cause string) { notes = append(notes, path+" "+cause) })[path], path, review(t, asked))
				checkAnswer(t, response)
				if want := []string{path + " " + test.wantCause}; !slices.Equal(notes, want) {
					t.Errorf("noted %q, want %q", notes, want)
				}
				if response.UID != asked.UID {
					t.Errorf("answered request %q", response.UID)
				}
				if path != PathEnforcePods {
					if !response.Allowed || response.Patch != nil || len(response.Warnings) != 1 || !strings.Contains(response.Warnings[0], "passes unjudged") {
						t.Errorf("allowed %v with warnings %q and patch %s", response.Allowed, response.Warnings, response.Patch)
					}
					return
				}
				if response.Allowed || response.Result.Code != test.wantCode || !strings.Contains(response.Result.Message, test.wantText) || strings.Contains(response.Result.Message, "secret") {
					t.Errorf("allowed %v, %+v", response.Allowed, response.Result)
				}
			})
		}
	}
}

// TestWhatIsNoReviewIsNoAnswer: to a body that holds no review the API server gets no
// answer that it takes for one, so it goes by its failurePolicy, as if nobody had answered.
func TestWhatIsNoReviewIsNoAnswer(t *testing.T) {
	log.SetLogger(klog.Logger{})
	handlers := Handlers(newWorld().pods(t), testConfigs(), noted)
	for _, name := range []string{"truncated", "no JSON"} {
		for _, path := range paths {
			answer := &admissionv1.AdmissionReview{Response: post(t, handlers[path], path, seeds(t)[name])}
			if _, err := apiserver.VerifyAdmissionResponse("request", path == PathMutatePods, answer); err == nil {
				t.Errorf("%s at %s is an answer: %+v", name, path, answer.Response)
			}
		}
	}
}

func TestConfigsFaultsAreStillTold(t *testing.T) {
	log.SetLogger(klog.Logger{})
	asked := creating(t, "wastenot-system", gpuPod("1"))
	asked.Name, asked.Kind, asked.Object.Raw = "wastenot-quota", metav1.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, []byte(`{"data":{"quota.yaml":"bad"}}`)
	response := post(t, Handlers(newWorld().pods(t), testConfigs(), noted)[PathValidateConfig], PathValidateConfig, review(t, asked))
	if response.Allowed || response.Result.Code != 422 {
		t.Errorf("allowed %v, %+v", response.Allowed, response.Result)
	}
}
