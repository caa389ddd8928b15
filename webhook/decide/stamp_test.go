package decide

import (
	"encoding/json"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"wastenot.dev/api/v1alpha1"
)

type teams map[string]v1alpha1.Team

func (t teams) Team(name string) (v1alpha1.Team, bool) { team, ok := t[name]; return team, ok }

func TestOwnerOf(t *testing.T) {
	known := teams{
		"vision": {Name: "vision", Owner: "alice", CostCenter: "cc-1", Policy: v1alpha1.QuotaQueue},
		"nlp":    {Name: "nlp"},
	}
	type m = map[string]string
	tests := map[string]struct {
		namespace, pod m
		want           Owner
	}{
		"nothing": {},
		"team": {
			namespace: m{v1alpha1.LabelTeam: "vision"},
			want:      Owner{Team: "vision", Known: true, Policy: v1alpha1.QuotaQueue, Owner: "alice", CostCenter: "cc-1", TeamOwner: "alice"},
		},
		"namespace wins": {
			namespace: m{v1alpha1.LabelTeam: "vision", v1alpha1.LabelOwner: "bob", v1alpha1.LabelCostCenter: "cc-2"}, pod: m{v1alpha1.LabelOwner: "eve"},
			want: Owner{Team: "vision", Known: true, Policy: v1alpha1.QuotaQueue, Owner: "bob", CostCenter: "cc-2", TeamOwner: "alice"},
		},
		"pod where nobody else says": {
			namespace: m{v1alpha1.LabelTeam: "nlp"}, pod: m{v1alpha1.LabelOwner: "carol", v1alpha1.LabelCostCenter: "cc-3"},
			want: Owner{Team: "nlp", Known: true, Policy: v1alpha1.QuotaReject, Owner: "carol", CostCenter: "cc-3"},
		},
		"the pod cannot name its team": {pod: m{v1alpha1.LabelTeam: "vision"}},
		"unknown team":                 {namespace: m{v1alpha1.LabelTeam: "visoin"}, want: Owner{Team: "visoin"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := OwnerOf(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Labels: test.namespace}}, podWith(test.pod), known)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("owner (-want +got):\n%s", diff)
			}
		})
	}
}

// apply applies operations as the API server does.
func apply(t *testing.T, pod *corev1.Pod, operations []Operation) *corev1.Pod {
	t.Helper()
	if len(operations) == 0 {
		return pod
	}
	before, err := json.Marshal(pod)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(operations)
	if err != nil {
		t.Fatal(err)
	}
	patch, err := jsonpatch.DecodePatch(text)
	if err != nil {
		t.Fatal(err)
	}
	after, err := patch.Apply(before)
	if err != nil {
		t.Fatalf("applying %s: %v", text, err)
	}
	patched := &corev1.Pod{}
	if err := json.Unmarshal(after, patched); err != nil {
		t.Fatal(err)
	}
	return patched
}

func TestStamp(t *testing.T) {
	type m = map[string]string
	stamp := Stamp{
		Namespace: "research", Scheduler: v1alpha1.SchedulerName, Owner: vision(v1alpha1.QuotaReject),
		Cost: m{v1alpha1.AnnotationHourly: "6.88", v1alpha1.AnnotationBasis: "whole"},
	}
	wantLabels := m{v1alpha1.LabelTeam: "vision", v1alpha1.LabelOwner: "alice", v1alpha1.LabelCostCenter: "cc-1"}
	controlled := podWith(m{v1alpha1.LabelTeam: "nlp"})
	controlled.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "x", Controller: ptr.To(true)}}
	withSpec := func(spec corev1.PodSpec) *corev1.Pod {
		pod := podWith(nil)
		pod.Spec = spec
		return pod
	}
	priced := podWith(nil)
	priced.Annotations = m{v1alpha1.AnnotationHourly: "0.01", v1alpha1.AnnotationBoundHourly: "0.01", "cost.wastenot.dev/x~y": "1", "other": "stays"}
	mailing := stamp
	mailing.Owner.Owner = "alice@example.com"
	leaving := stamp
	leaving.Scheduler = ""
	tests := map[string]struct {
		stamp           Stamp
		pod             *corev1.Pod
		wantLabels      m
		wantAnnotations m
		wantScheduler   string
		wantWarnings    int
	}{
		"bare pod":                   {stamp: stamp, pod: podWith(nil), wantLabels: wantLabels, wantScheduler: v1alpha1.SchedulerName},
		"default scheduler":          {stamp: stamp, pod: withSpec(corev1.PodSpec{SchedulerName: corev1.DefaultSchedulerName}), wantLabels: wantLabels, wantScheduler: v1alpha1.SchedulerName},
		"another scheduler":          {stamp: stamp, pod: withSpec(corev1.PodSpec{SchedulerName: "volcano"}), wantLabels: wantLabels, wantScheduler: "volcano"},
		"node is named":              {stamp: stamp, pod: withSpec(corev1.PodSpec{SchedulerName: corev1.DefaultSchedulerName, NodeName: "n"}), wantLabels: wantLabels, wantScheduler: corev1.DefaultSchedulerName},
		"no scheduler is configured": {stamp: leaving, pod: podWith(nil), wantLabels: wantLabels},
		"a label that differs":       {stamp: stamp, pod: podWith(m{v1alpha1.LabelTeam: "nlp"}), wantLabels: wantLabels, wantScheduler: v1alpha1.SchedulerName, wantWarnings: 1},
		"a controller's label stays": {
			stamp: stamp, pod: controlled, wantScheduler: v1alpha1.SchedulerName,
			wantLabels: m{v1alpha1.LabelTeam: "nlp", v1alpha1.LabelOwner: "alice", v1alpha1.LabelCostCenter: "cc-1"},
		},
		"what is no label value is left out": {stamp: mailing, pod: podWith(nil), wantLabels: m{v1alpha1.LabelTeam: "vision", v1alpha1.LabelCostCenter: "cc-1"}, wantScheduler: v1alpha1.SchedulerName},
		"a user's prices are replaced": {
			stamp: stamp, pod: priced, wantLabels: wantLabels, wantScheduler: v1alpha1.SchedulerName,
			wantAnnotations: m{v1alpha1.AnnotationHourly: "6.88", v1alpha1.AnnotationBasis: "whole", "other": "stays"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			operations, warnings := test.stamp.Patch(test.pod)
			stamped := apply(t, test.pod, operations)
			if test.wantAnnotations == nil {
				test.wantAnnotations = stamp.Cost
			}
			if diff := cmp.Diff(test.wantLabels, stamped.Labels); diff != "" {
				t.Errorf("labels (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.wantAnnotations, stamped.Annotations); diff != "" {
				t.Errorf("annotations (-want +got):\n%s", diff)
			}
			if stamped.Spec.SchedulerName != test.wantScheduler || len(warnings) != test.wantWarnings {
				t.Errorf("scheduler %q, warnings %q", stamped.Spec.SchedulerName, warnings)
			}
			if again, warnings := test.stamp.Patch(stamped); len(again)+len(warnings) > 0 {
				t.Errorf("a second pass changes %v and warns %q", again, warnings)
			}
		})
	}
}

func TestExempt(t *testing.T) {
	exemptions := Exemptions{Users: []string{"system:serviceaccount:gpu-operator:nvidia-operator-validator"}, Groups: []string{"system:nodes"}}
	tests := map[string]struct {
		user   string
		groups []string
		want   bool
	}{
		"user":          {user: "system:serviceaccount:gpu-operator:nvidia-operator-validator", want: true},
		"group":         {user: "system:node:n1", groups: []string{"system:authenticated", "system:nodes"}, want: true},
		"longer":        {user: "system:serviceaccount:gpu-operator:nvidia-operator-validator2"},
		"group as user": {user: "system:nodes"},
		"nobody":        {},
	}
	for name, test := range tests {
		if got := exemptions.Exempt(test.user, test.groups); got != test.want {
			t.Errorf("%s: exempt %v, want %v", name, got, test.want)
		}
	}
}
