package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/internal/accelerator"
	"wastenot.dev/quota"
	"wastenot.dev/webhook/decide"
)

const quotaText = `
teams:
  - name: vision
    owner: alice
    costCenter: cc-1
    limits: {classes: {nvidia.com/gpu: 2}}
  - name: batch
    owner: bob
    policy: Queue
    limits: {classes: {nvidia.com/gpu: 2}}
`

// world is all that the handlers see.
type world struct {
	namespaces map[string]*corev1.Namespace
	err        error

	mu       sync.Mutex
	ledger   *v1alpha1.QuotaLedger
	reserved []string
	checked  []string
	records  []decide.Record
	quotaErr error
}

func (w *world) Namespace(_ context.Context, name string) (*corev1.Namespace, error) {
	if w.err != nil {
		return nil, w.err
	}
	if namespace, ok := w.namespaces[name]; ok {
		return namespace, nil
	}
	return nil, apierrors.NewNotFound(corev1.Resource("namespaces"), name)
}

func (w *world) Claims(context.Context) accelerator.Objects { return noClaims{} }

type noClaims struct{}

func (noClaims) Claim(_, name string) (*resourceapi.ResourceClaim, error) {
	return nil, apierrors.NewNotFound(resourceapi.Resource("resourceclaims"), name)
}

func (noClaims) Template(_, name string) (*resourceapi.ResourceClaimTemplate, error) {
	return nil, apierrors.NewNotFound(resourceapi.Resource("resourceclaimtemplates"), name)
}

func (noClaims) Class(name string) (*resourceapi.DeviceClass, error) {
	return nil, apierrors.NewNotFound(resourceapi.Resource("deviceclasses"), name)
}

func (w *world) Reserve(_ context.Context, team string, want quota.Want) (quota.Verdict, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reserved = append(w.reserved, fmt.Sprintf("%s %s %v", team, want.UID, want.Demand))
	next, verdict := quota.Admit(w.ledger, want, time.Unix(0, 0))
	w.ledger = next
	return verdict, w.quotaErr
}

func (w *world) Check(_ context.Context, team string, want quota.Want) (quota.Verdict, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.checked = append(w.checked, fmt.Sprintf("%s %s %v", team, want.UID, want.Demand))
	return quota.Check(w.ledger, want), w.quotaErr
}

func (w *world) Estimate(_ context.Context, _ *corev1.Pod, demand []accelerator.Demand) (annotations map[string]string, where string) {
	amount := v1alpha1.Unknown
	if len(demand) > 0 {
		amount, where = fmt.Sprintf("%d.00", demand[0].Count), "p5.48xlarge"
	}
	return map[string]string{
		v1alpha1.AnnotationHourly: amount, v1alpha1.AnnotationHourlyMin: amount, v1alpha1.AnnotationHourlyMax: amount, v1alpha1.AnnotationCurrency: "USD",
	}, where
}

func (w *world) Hash() string { return "prices" }

func newWorld() *world {
	w := &world{namespaces: map[string]*corev1.Namespace{}, ledger: &v1alpha1.QuotaLedger{
		ObjectMeta: metav1.ObjectMeta{Name: "vision"},
		Spec:       v1alpha1.QuotaLedgerSpec{Limits: v1alpha1.QuotaLimits{Classes: map[string]int64{"nvidia.com/gpu": 2}}},
	}}
	for name, labels := range map[string]map[string]string{
		"watched":      {v1alpha1.LabelTeam: "vision"},
		"warned":       {v1alpha1.LabelTeam: "vision", v1alpha1.LabelMode: "warn"},
		"strict":       {v1alpha1.LabelTeam: "vision", v1alpha1.LabelMode: "enforce"},
		"queued":       {v1alpha1.LabelTeam: "batch", v1alpha1.LabelMode: "enforce"},
		"nobodys":      {v1alpha1.LabelMode: "enforce"},
		"gpu-operator": {v1alpha1.LabelMode: "enforce"},
	} {
		w.namespaces[name] = &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	}
	return w
}

func (w *world) pods(t testing.TB) *Pods {
	t.Helper()
	config, err := quota.Parse([]byte(quotaText))
	if err != nil {
		t.Fatal(err)
	}
	return &Pods{
		Objects: w, Config: func() *quota.Config { return config }, Ledgers: w, Prices: w,
		Exempt:    decide.Exemptions{Users: []string{"system:serviceaccount:gpu-operator:nvidia-operator-validator"}},
		Scheduler: v1alpha1.SchedulerName, Served: []string{v1alpha1.SchedulerName}, Clock: clock.RealClock{},
		Report: func(_ context.Context, record decide.Record, _ *corev1.Namespace, _ time.Duration) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.records = append(w.records, record)
		},
	}
}

func gpuPod(count string) *corev1.Pod {
	list := corev1.ResourceList{"nvidia.com/gpu": resource.MustParse(count)}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "train", UID: "uid-1"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{Requests: list, Limits: list}}}},
	}
}

// scheduledBy has the pod name its scheduler.
func scheduledBy(name string, pod *corev1.Pod) *corev1.Pod {
	pod.Spec.SchedulerName = name
	return pod
}

func encode(t testing.TB, object any) []byte {
	t.Helper()
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// creating is the request that creates the pod in the namespace.
func creating(t testing.TB, namespace string, pod *corev1.Pod) admission.Request {
	t.Helper()
	return admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		UID: "request", Kind: metav1.GroupVersionKind{Version: "v1", Kind: "Pod"}, Resource: metav1.GroupVersionResource{Version: "v1", Resource: "pods"},
		Namespace: namespace, Name: pod.Name, Operation: admissionv1.Create, DryRun: ptr.To(false),
		UserInfo: authenticationv1.UserInfo{Username: "alice"}, Object: runtime.RawExtension{Raw: encode(t, pod)},
	}}
}

func updating(t testing.TB, namespace string, old, object *corev1.Pod) admission.Request {
	t.Helper()
	request := creating(t, namespace, object)
	request.Operation, request.OldObject = admissionv1.Update, runtime.RawExtension{Raw: encode(t, old)}
	return request
}
