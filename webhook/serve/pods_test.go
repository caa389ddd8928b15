package serve

import (
	"errors"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/webhook/decide"
)

// ask takes the path that the API server takes for the namespace.
func ask(t *testing.T, w *world, request admission.Request) admission.Response {
	t.Helper()
	if w.namespaces[request.Namespace].Labels[v1alpha1.LabelMode] == string(v1alpha1.ModeEnforce) {
		return w.pods(t).Enforce(t.Context(), request)
	}
	return w.pods(t).Validate(t.Context(), request)
}

// TestThePathIsBelievedBeforeTheCache: the API server saw the namespace's mode change,
// the cache did not yet.
func TestThePathIsBelievedBeforeTheCache(t *testing.T) {
	response := newWorld().pods(t).Enforce(t.Context(), creating(t, "watched", gpuPod("3")))
	if response.Allowed {
		t.Error("admitted")
	}
}

func TestCreate(t *testing.T) {
	forged := gpuPod("1")
	forged.Labels = map[string]string{v1alpha1.LabelTeam: "batch"}
	claiming := gpuPod("1")
	claiming.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "nic", ResourceClaimName: ptr.To("nic")}}
	plain := gpuPod("1")
	plain.Spec.Containers[0].Resources = corev1.ResourceRequirements{}
	manyProcessors := gpuPod("1")
	manyProcessors.Spec.Containers = append(manyProcessors.Spec.Containers, corev1.Container{Name: "side", Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1e99999999")},
	}})
	onNode := scheduledBy(v1alpha1.SchedulerName, gpuPod("2"))
	onNode.Spec.NodeName = "n1"
	tests := map[string]struct {
		namespace    string
		pod          *corev1.Pod
		change       func(*admission.Request)
		world        func(*world)
		wantOutcome  decide.Outcome
		wantReason   decide.Reason
		wantCode     int32
		wantReserved []string
		wantChecked  []string
	}{
		"fits":          {namespace: "strict", pod: gpuPod("2"), wantOutcome: decide.OutcomeAdmitted, wantReserved: []string{"vision uid-1 map[nvidia.com/gpu:2]"}},
		"over":          {namespace: "strict", pod: gpuPod("3"), wantOutcome: decide.OutcomeRefused, wantReason: decide.ReasonQuotaExceeded, wantCode: http.StatusForbidden, wantReserved: []string{"vision uid-1 map[nvidia.com/gpu:3]"}},
		"over, warns":   {namespace: "warned", pod: gpuPod("3"), wantOutcome: decide.OutcomeWarned, wantReason: decide.ReasonQuotaExceeded, wantChecked: []string{"vision uid-1 map[nvidia.com/gpu:3]"}},
		"over, watches": {namespace: "watched", pod: gpuPod("3"), wantOutcome: decide.OutcomeAdmitted, wantReason: decide.ReasonQuotaExceeded, wantChecked: []string{"vision uid-1 map[nvidia.com/gpu:3]"}},
		"a dry run takes no room": {
			namespace: "strict", pod: gpuPod("2"), change: func(r *admission.Request) { r.DryRun = ptr.To(true) },
			wantOutcome: decide.OutcomeAdmitted, wantChecked: []string{"vision uid-1 map[nvidia.com/gpu:2]"},
		},
		"a team that queues takes no room": {namespace: "queued", pod: scheduledBy(v1alpha1.SchedulerName, gpuPod("2")), wantOutcome: decide.OutcomeAdmitted, wantChecked: []string{"batch uid-1 map[nvidia.com/gpu:2]"}},
		"a team that queues does not wait for more than it may hold": {
			namespace: "queued", pod: scheduledBy(v1alpha1.SchedulerName, gpuPod("3")), wantOutcome: decide.OutcomeRefused, wantReason: decide.ReasonQuotaExceeded,
			wantCode: http.StatusForbidden, wantChecked: []string{"batch uid-1 map[nvidia.com/gpu:3]"},
		},
		"a team that queues takes room for another scheduler": {
			namespace: "queued", pod: scheduledBy(corev1.DefaultSchedulerName, gpuPod("2")), wantOutcome: decide.OutcomeAdmitted, wantReserved: []string{"batch uid-1 map[nvidia.com/gpu:2]"},
		},
		"a team that queues takes room on a node": {
			namespace: "queued", pod: onNode, wantOutcome: decide.OutcomeAdmitted, wantReserved: []string{"batch uid-1 map[nvidia.com/gpu:2]"},
		},
		"over, queues, another scheduler": {
			namespace: "queued", pod: scheduledBy("volcano", gpuPod("3")), wantOutcome: decide.OutcomeRefused, wantReason: decide.ReasonQuotaExceeded,
			wantCode: http.StatusForbidden, wantReserved: []string{"batch uid-1 map[nvidia.com/gpu:3]"},
		},
		"refused in any case takes no room": {namespace: "nobodys", pod: gpuPod("1"), wantOutcome: decide.OutcomeRefused, wantReason: decide.ReasonTeamMissing, wantCode: http.StatusForbidden},
		"another team's label":              {namespace: "strict", pod: forged, wantOutcome: decide.OutcomeRefused, wantReason: decide.ReasonTeamDiffers, wantCode: http.StatusForbidden},
		"claim is missing":                  {namespace: "strict", pod: claiming, wantOutcome: decide.OutcomeRefused, wantReason: decide.ReasonClaimsUnknown, wantCode: http.StatusForbidden},
		"no accelerator":                    {namespace: "nobodys", pod: plain, wantOutcome: decide.OutcomeIgnored},
		"ledger is out of reach": {
			namespace: "strict", pod: gpuPod("1"), world: func(w *world) { w.quotaErr = errors.New("no connection") },
			wantOutcome: decide.OutcomeRefused, wantReason: decide.ReasonQuotaUnavailable, wantCode: http.StatusTooManyRequests, wantReserved: []string{"vision uid-1 map[nvidia.com/gpu:1]"},
		},
		"namespace is out of reach": {
			namespace: "strict", pod: gpuPod("1"), world: func(w *world) { w.err = errors.New("no connection") },
			wantOutcome: decide.OutcomeRefused, wantReason: decide.ReasonNamespaceUnreadable, wantCode: http.StatusTooManyRequests,
		},
		"more than can be counted":  {namespace: "strict", pod: gpuPod("10e18"), wantOutcome: decide.OutcomeRefused, wantReason: decide.ReasonClaimsUnknown, wantCode: http.StatusForbidden},
		"a very large exponent":     {namespace: "strict", pod: gpuPod("1e1000"), wantOutcome: decide.OutcomeRefused, wantReason: decide.ReasonClaimsUnknown, wantCode: http.StatusForbidden},
		"more than can be added up": {namespace: "strict", pod: gpuPod("1e99999999"), wantOutcome: decide.OutcomeRefused, wantReason: decide.ReasonClaimsUnknown, wantCode: http.StatusForbidden},
		"processors that cannot be added up": {
			namespace: "strict", pod: manyProcessors, wantOutcome: decide.OutcomeRefused, wantReason: decide.ReasonClaimsUnknown, wantCode: http.StatusForbidden,
		},
		"exempt": {
			namespace: "strict", pod: gpuPod("3"), change: func(r *admission.Request) {
				r.UserInfo.Username = "system:serviceaccount:gpu-operator:nvidia-operator-validator"
			},
			wantOutcome: decide.OutcomeExempt,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			if test.world != nil {
				test.world(w)
			}
			request := creating(t, test.namespace, test.pod)
			if test.change != nil {
				test.change(&request)
			}
			response := ask(t, w, request)
			record := w.records[len(w.records)-1]
			if record.Outcome != test.wantOutcome || record.Reason() != test.wantReason || record.Code != test.wantCode {
				t.Errorf("got %+v", record)
			}
			if diff := cmp.Diff(test.wantReserved, w.reserved); diff != "" {
				t.Errorf("reserved (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.wantChecked, w.checked); diff != "" {
				t.Errorf("checked (-want +got):\n%s", diff)
			}
			if response.Allowed != (test.wantOutcome != decide.OutcomeRefused) {
				t.Errorf("allowed %v", response.Allowed)
			}
			if !response.Allowed && (response.Result.Code != test.wantCode || response.Result.Message == "") {
				t.Errorf("answered %+v", response.Result)
			}
			if audited := response.AuditAnnotations["decision"] != ""; audited != (test.wantOutcome != decide.OutcomeIgnored) {
				t.Errorf("audit annotations %v", response.AuditAnnotations)
			}
		})
	}
}

func TestOnlyTheEnforcingPathRefusesWhatCannotBeJudged(t *testing.T) {
	w := newWorld()
	w.err = errors.New("no connection")
	if response := w.pods(t).Validate(t.Context(), creating(t, "strict", gpuPod("1"))); !response.Allowed {
		t.Errorf("refused: %+v", response.Result)
	}
	if response := w.pods(t).Mutate(t.Context(), creating(t, "strict", gpuPod("1"))); !response.Allowed || response.Patch != nil {
		t.Errorf("answered %+v with patch %s", response.Result, response.Patch)
	}
}

func TestBusyTellsWhenToTryAgain(t *testing.T) {
	w := newWorld()
	pods := w.pods(t)
	if response := pods.Enforce(t.Context(), creating(t, "strict", gpuPod("2"))); !response.Allowed {
		t.Fatal(response.Result)
	}
	second := gpuPod("1")
	second.UID = "uid-2"
	response := pods.Enforce(t.Context(), creating(t, "strict", second))
	if response.Allowed || response.Result.Code != http.StatusTooManyRequests || response.Result.Details.RetryAfterSeconds == 0 {
		t.Errorf("answered %+v", response.Result)
	}
	// A controller backs off by itself; told when, its client would wait inside one call, and
	// with it the worker that makes all other teams' pods.
	second.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "x", Controller: ptr.To(true)}}
	response = pods.Enforce(t.Context(), creating(t, "strict", second))
	if response.Allowed || response.Result.Code != http.StatusTooManyRequests || response.Result.Details != nil {
		t.Errorf("a controller is answered %+v with %+v", response.Result, response.Result.Details)
	}
	// The API server asks again for the same pod, as after a generated name that was taken.
	if response := pods.Enforce(t.Context(), creating(t, "strict", gpuPod("2"))); !response.Allowed {
		t.Errorf("the pod that has its reservation is refused: %+v", response.Result)
	}
}

// validatorPod is the pod by which NVIDIA's GPU operator tests a new node.
func validatorPod() *corev1.Pod {
	pod := gpuPod("1")
	pod.ObjectMeta = metav1.ObjectMeta{GenerateName: "nvidia-device-plugin-validator-", Namespace: "gpu-operator", Labels: map[string]string{"app": "nvidia-device-plugin-validator"}}
	pod.Spec.InitContainers = pod.Spec.Containers
	pod.Spec.InitContainers[0].Name = "plugin-validation"
	pod.Spec.Containers = []corev1.Container{{Name: "nvidia-device-plugin-validator"}}
	pod.Spec.NodeName, pod.Spec.ServiceAccountName = "node-1", "nvidia-operator-validator"
	pod.Spec.SchedulerName = corev1.DefaultSchedulerName
	return pod
}

func TestTheOperatorsValidatorIsLetThrough(t *testing.T) {
	w := newWorld()
	pods := w.pods(t)
	request := creating(t, "gpu-operator", validatorPod())
	if response := pods.Enforce(t.Context(), request); response.Allowed {
		t.Fatal("a user gets the validator's pod admitted")
	}
	request.UserInfo.Username = "system:serviceaccount:gpu-operator:nvidia-operator-validator"
	if response := pods.Mutate(t.Context(), request); !response.Allowed || response.Patch != nil {
		t.Errorf("answered %+v with patch %s", response.Result, response.Patch)
	}
	if response := pods.Enforce(t.Context(), request); !response.Allowed {
		t.Errorf("refused: %+v", response.Result)
	}
	if len(w.reserved)+len(w.checked) > 0 || w.records[len(w.records)-1].Outcome != decide.OutcomeExempt {
		t.Errorf("reserved %v, checked %v, record %+v", w.reserved, w.checked, w.records)
	}
}

func TestMutateStamps(t *testing.T) {
	w := newWorld()
	pod := gpuPod("2")
	pod.Name, pod.UID, pod.GenerateName = "", "", "train-"
	response := w.pods(t).Mutate(t.Context(), creating(t, "strict", pod))
	if !response.Allowed || response.PatchType == nil || *response.PatchType != admissionv1.PatchTypeJSONPatch {
		t.Fatalf("answered %+v", response)
	}
	for _, want := range []string{`"/metadata/labels/wastenot.dev~1team","value":"vision"`, `estimated-hourly","value":"2.00"`, `"/spec/schedulerName","value":"wastenot-scheduler"`} {
		if !strings.Contains(string(response.Patch), want) {
			t.Errorf("patch %s lacks %s", response.Patch, want)
		}
	}
	if len(w.reserved) > 0 {
		t.Errorf("reserved %v while the pod has no identity", w.reserved)
	}
}

func TestUpdate(t *testing.T) {
	stamped := gpuPod("1")
	stamped.Labels = map[string]string{v1alpha1.LabelTeam: "vision"}
	moved := stamped.DeepCopy()
	moved.Labels = maps.Clone(stamped.Labels)
	moved.Labels[v1alpha1.LabelTeam] = "batch"
	scheduler := func(r *admission.Request) {
		r.UserInfo.Username = "system:serviceaccount:gpu-operator:nvidia-operator-validator"
	}
	status := func(r *admission.Request) { r.SubResource = "status" }
	tests := map[string]struct {
		namespace string
		object    *corev1.Pod
		change    func(*admission.Request)
		want      decide.Outcome
	}{
		"unchanged":      {namespace: "strict", object: stamped, want: decide.OutcomeAdmitted},
		"moved":          {namespace: "strict", object: moved, want: decide.OutcomeRefused},
		"through status": {namespace: "strict", object: moved, change: status, want: decide.OutcomeRefused},
		"moved, warns":   {namespace: "warned", object: moved, want: decide.OutcomeWarned},
		"moved, watches": {namespace: "watched", object: moved, want: decide.OutcomeAdmitted},
		"by ourselves":   {namespace: "strict", object: moved, change: scheduler, want: decide.OutcomeExempt},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			request := updating(t, test.namespace, stamped, test.object)
			if test.change != nil {
				test.change(&request)
			}
			response := ask(t, w, request)
			if got := w.records[0]; got.Outcome != test.want || got.Operation != OperationUpdate || len(w.reserved) > 0 {
				t.Errorf("record %+v, reserved %v, want %s", got, w.reserved, test.want)
			}
			if response.Allowed != (test.want != decide.OutcomeRefused) {
				t.Errorf("allowed %v", response.Allowed)
			}
		})
	}
}
