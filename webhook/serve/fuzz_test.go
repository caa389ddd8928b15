package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

func review(t testing.TB, request admission.Request) []byte {
	t.Helper()
	return encode(t, admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"}, Request: &request.AdmissionRequest,
	})
}

// seeds are requests of every kind, by what they are.
func seeds(t testing.TB) map[string][]byte {
	t.Helper()
	many := gpuPod("1")
	for i := range 199 {
		container := many.Spec.Containers[0]
		container.Name = fmt.Sprint("c", i)
		many.Spec.Containers = append(many.Spec.Containers, container)
	}
	wrong := creating(t, "strict", gpuPod("1"))
	wrong.Kind.Kind = "Deployment"
	empty := creating(t, "strict", gpuPod("1"))
	empty.Object.Raw = nil
	stamped := gpuPod("1")
	stamped.Labels = map[string]string{"wastenot.dev/team": "vision"}
	valid := review(t, creating(t, "strict", gpuPod("1")))
	all := map[string][]byte{
		"create": valid, "update": review(t, updating(t, "strict", stamped, gpuPod("1"))), "wrong kind": review(t, wrong), "no object": review(t, empty),
		"truncated": valid[:len(valid)/2], "empty": {}, "no JSON": []byte("hello"), "no request": []byte(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}`),
		"200 containers": review(t, creating(t, "strict", many)), "no such namespace": review(t, creating(t, "nowhere", gpuPod("1"))),
	}
	for _, amount := range []string{"1e1000", "-1", "4611686018427387904", "9223372036854775808", "1e-9", "0", "1e99999999"} {
		all["amount "+amount] = bytes.ReplaceAll(valid, []byte(`"nvidia.com/gpu":"1"`), []byte(`"nvidia.com/gpu":"`+amount+`"`))
	}
	return all
}

var paths = []string{PathMutatePods, PathValidatePods, PathEnforcePods, PathValidateConfig}

// post asks over HTTP as the API server does.
func post(t testing.TB, handler http.Handler, path string, body []byte) *admissionv1.AdmissionResponse {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, bytes.NewReader(body))
	request.Header.Set("Content-Type", "application/json")
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, request)
	text, err := io.ReadAll(recorder.Result().Body)
	if err != nil {
		t.Fatal(err)
	}
	answer := admissionv1.AdmissionReview{}
	if err := json.Unmarshal(text, &answer); err != nil || answer.Response == nil {
		t.Fatalf("%s answers %q: %v", path, text, err)
	}
	return answer.Response
}

// checkAnswer: no answer is empty, none tells of a panic.
func checkAnswer(t testing.TB, response *admissionv1.AdmissionResponse) {
	t.Helper()
	if !response.Allowed && (response.Result == nil || response.Result.Message == "" || response.Result.Code < 400) {
		t.Errorf("refused without a word: %+v", response.Result)
	}
	if response.Result != nil && strings.Contains(response.Result.Message, "panic") {
		t.Errorf("panic: %s", response.Result.Message)
	}
	for _, warning := range response.Warnings {
		if len(warning) > 256 {
			t.Errorf("warning of %d bytes: %s", len(warning), warning)
		}
	}
}

// noted lets requests that were not judged go by.
func noted(string, string) {}

func TestAnswersOverHTTP(t *testing.T) {
	log.SetLogger(klog.Logger{})
	tests := map[string]struct {
		path     string
		want     bool
		wantCode int32
		wantText string
	}{
		"create":                     {path: PathEnforcePods, want: true},
		"update":                     {path: PathEnforcePods, wantCode: 403, wantText: "wastenot.dev/team cannot change"},
		"wrong kind":                 {path: PathEnforcePods, wantCode: 400, wantText: "no Pod; this path is for pods alone: got \"Deployment\""},
		"no object":                  {path: PathEnforcePods, wantCode: 400, wantText: "holds no Pod"},
		"truncated":                  {path: PathEnforcePods, wantCode: 400, wantText: "unexpected end of JSON"},
		"empty":                      {path: PathEnforcePods, wantCode: 400, wantText: "no Pod"},
		"no request":                 {path: PathEnforcePods, wantCode: 400, wantText: "no Pod"},
		"200 containers":             {path: PathEnforcePods, wantCode: 403, wantText: "wants 200 nvidia.com/gpu"},
		"amount 1e1000":              {path: PathEnforcePods, wantCode: 403, wantText: "no node can have the amount of nvidia.com/gpu"},
		"amount -1":                  {path: PathEnforcePods, wantCode: 403, wantText: "cannot be counted"},
		"amount 4611686018427387904": {path: PathEnforcePods, wantCode: 403, wantText: "no node can have the amount of nvidia.com/gpu"},
		"amount 9223372036854775808": {path: PathEnforcePods, wantCode: 403, wantText: "no node can have the amount of nvidia.com/gpu"},
		"no such namespace":          {path: PathEnforcePods, wantCode: 429, wantText: "cannot be judged"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			body, ok := seeds(t)[name]
			if !ok {
				t.Fatal("no such seed")
			}
			response := post(t, Handlers(newWorld().pods(t), testConfigs(), noted)[test.path], test.path, body)
			checkAnswer(t, response)
			if response.Allowed != test.want || (!test.want && (response.Result.Code != test.wantCode || !strings.Contains(response.Result.Message, test.wantText))) {
				t.Errorf("allowed %v, %+v", response.Allowed, response.Result)
			}
		})
	}
}

func TestOversizedRequestsAreRefused(t *testing.T) {
	log.SetLogger(klog.Logger{})
	pod := gpuPod("1")
	pod.Annotations = map[string]string{"x": strings.Repeat("x", 8<<20)}
	response := post(t, Handlers(newWorld().pods(t), testConfigs(), noted)[PathEnforcePods], PathEnforcePods, review(t, creating(t, "strict", pod)))
	if response.Allowed || response.Result.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("answered %+v", response.Result)
	}
}

func FuzzAdmission(f *testing.F) {
	log.SetLogger(klog.Logger{})
	for _, seed := range seeds(f) {
		for i := range paths {
			f.Add(seed, uint8(i))
		}
	}
	handlers := Handlers(newWorld().pods(f), testConfigs(), noted)
	f.Fuzz(func(t *testing.T, body []byte, path uint8) {
		p := paths[int(path)%len(paths)]
		checkAnswer(t, post(t, handlers[p], p, body))
	})
}

// BenchmarkEnforce is one decision, without the network and the ledger's write.
func BenchmarkEnforce(b *testing.B) {
	log.SetLogger(klog.Logger{})
	w := newWorld()
	w.ledger.Spec.Limits.Classes["nvidia.com/gpu"] = 1 << 30
	handler := Handlers(w.pods(b), testConfigs(), noted)[PathEnforcePods]
	pod := gpuPod("1")
	pod.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("4")
	body := review(b, creating(b, "strict", pod))
	for b.Loop() {
		post(b, handler, PathEnforcePods, body)
	}
}
