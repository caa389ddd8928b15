//go:build integration

package integration

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/test/fixture/rig"
)

const teamsOfTheTest = `
teams:
  - {name: red, owner: red-lead, costCenter: cc-1, limits: {classes: {nvidia.com/gpu: 1}}}
  - {name: blue, owner: blue-lead, limits: {devices: 1}}
`

// redTeam makes namespaces of team red, one for each mode, and one of no team.
func redTeam(ctx context.Context, t *testing.T, r *rig.Rig) {
	t.Helper()
	if err := r.SetConfig(ctx, v1alpha1.QuotaConfigMap, v1alpha1.QuotaKey, teamsOfTheTest); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []v1alpha1.Mode{v1alpha1.ModeObserve, v1alpha1.ModeWarn, v1alpha1.ModeEnforce} {
		if err := r.Namespace(ctx, "red-"+string(mode), map[string]string{v1alpha1.LabelTeam: "red", v1alpha1.LabelMode: string(mode)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Namespace(ctx, "blue", map[string]string{v1alpha1.LabelTeam: "blue", v1alpha1.LabelMode: string(v1alpha1.ModeEnforce)}); err != nil {
		t.Fatal(err)
	}
	if err := r.Namespace(ctx, "orphan", map[string]string{v1alpha1.LabelMode: string(v1alpha1.ModeEnforce)}); err != nil {
		t.Fatal(err)
	}
	await(ctx, t, r, "the ledger is counted", func() bool {
		ledger, err := r.Ledger(ctx, "red")
		return err == nil && ledger.Status.AsOf != nil
	})
}

func gpus(namespace, name string, count int64) *corev1.Pod {
	return rig.Workload{Namespace: namespace, Name: name, Resource: rig.ResourceGPU, Count: count, Scheduler: corev1.DefaultSchedulerName}.Pod(name)
}

// TestWhatEachModeDoes: the same pod is admitted, warned of or refused by the namespace's
// mode, and bears its owner and price where it is admitted.
func TestWhatEachModeDoes(t *testing.T) {
	onEachVersion(t, func(ctx context.Context, t *testing.T, r *rig.Rig) {
		redTeam(ctx, t, r)
		t.Run("observe", func(t *testing.T) {
			warnings, err := r.Try(ctx, gpus("red-observe", "p", 2))
			if err != nil || len(warnings) > 0 {
				t.Errorf("error %v, warnings %q, want neither", err, warnings)
			}
			stamped(ctx, t, r, "red-observe", "p")
		})
		t.Run("warn", func(t *testing.T) {
			warnings, err := r.Try(ctx, gpus("red-warn", "p", 2))
			if err != nil || !strings.Contains(strings.Join(warnings, "\n"), "team red is over quota") {
				t.Errorf("error %v, warnings %q, want a warning of quota", err, warnings)
			}
			for _, warning := range warnings {
				if len(warning) > 256 {
					t.Errorf("a warning of %d bytes, which may be cut: %s", len(warning), warning)
				}
			}
			stamped(ctx, t, r, "red-warn", "p")
		})
		t.Run("enforce", func(t *testing.T) {
			refused(ctx, t, r, gpus("red-enforce", "p", 2), "team red is over quota", "wants 2 nvidia.com/gpu", "of 1", "its price is unknown", "red-lead")
			refused(ctx, t, r, gpus("orphan", "p", 1), "namespace orphan has no team", "wastenot.dev/team")
		})
		t.Run("a pod without accelerators", func(t *testing.T) {
			pod := rig.Workload{Namespace: "orphan", Name: "cpu"}.Pod("cpu")
			if warnings, err := r.Try(ctx, pod); err != nil || len(warnings) > 0 {
				t.Errorf("error %v, warnings %q", err, warnings)
			}
		})
		t.Run("labels are frozen", func(t *testing.T) {
			if _, err := r.Try(ctx, gpus("blue", "p", 1)); err != nil {
				t.Fatal(err)
			}
			for _, patch := range []string{
				`{"metadata":{"labels":{"wastenot.dev/team":"red"}}}`, `{"metadata":{"labels":{"wastenot.dev/team":null}}}`,
				`{"metadata":{"annotations":{"cost.wastenot.dev/bound-hourly":"0.01"}}}`,
			} {
				_, err := r.Client.CoreV1().Pods("blue").Patch(ctx, "p", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
				if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "wastenot.dev/") {
					t.Errorf("%s: error %v, want a refusal that names the key", patch, err)
				}
			}
			other := []byte(`{"metadata":{"labels":{"mine":"x"}}}`)
			if _, err := r.Client.CoreV1().Pods("blue").Patch(ctx, "p", types.MergePatchType, other, metav1.PatchOptions{}); err != nil {
				t.Errorf("a label of the user's own: %v", err)
			}
		})
	})
}

// stamped checks what an admitted pod of team red bears.
func stamped(ctx context.Context, t *testing.T, r *rig.Rig, namespace, name string) {
	t.Helper()
	pod, err := r.Client.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for label, want := range map[string]string{v1alpha1.LabelTeam: "red", v1alpha1.LabelOwner: "red-lead", v1alpha1.LabelCostCenter: "cc-1"} {
		if got := pod.Labels[label]; got != want {
			t.Errorf("label %s is %q, want %q", label, got, want)
		}
	}
	if pod.Spec.SchedulerName != v1alpha1.SchedulerName {
		t.Errorf("scheduler %q", pod.Spec.SchedulerName)
	}
	// The nodes of the suite have no instance type and the book no rule.
	for _, key := range []string{v1alpha1.AnnotationHourly, v1alpha1.AnnotationHourlyMin, v1alpha1.AnnotationHourlyMax} {
		if got := pod.Annotations[key]; got != v1alpha1.Unknown {
			t.Errorf("annotation %s is %q, want unknown", key, got)
		}
	}
}

// refused checks that the pod is forbidden, with words that help.
func refused(ctx context.Context, t *testing.T, r *rig.Rig, pod *corev1.Pod, words ...string) {
	t.Helper()
	_, err := r.Try(ctx, pod)
	if !apierrors.IsForbidden(err) {
		t.Errorf("error %v, want 403", err)
		return
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("the refusal lacks %q: %v", word, err)
		}
	}
}

// TestWithoutTheWebhook: where it is enforced nothing gets past a webhook that is gone,
// everything else does, and a pod without accelerators never needs it.
func TestWithoutTheWebhook(t *testing.T) {
	onEachVersion(t, func(ctx context.Context, t *testing.T, r *rig.Rig) {
		redTeam(ctx, t, r)
		for _, webhook := range r.Webhooks {
			webhook.Kill()
		}
		r.Telemetry.Kill()
		if _, err := r.Try(ctx, gpus("red-enforce", "p", 1)); err == nil || !strings.Contains(err.Error(), "enforce.pods.wastenot.dev") {
			t.Errorf("enforce: error %v, want one that names our webhook", err)
		}
		for _, namespace := range []string{"red-observe", "red-warn"} {
			if _, err := r.Try(ctx, gpus(namespace, "p", 1)); err != nil {
				t.Errorf("%s: %v", namespace, err)
			}
		}
		if err := r.Create(ctx, rig.Workload{Namespace: "red-enforce", Name: "cpu"}, 1); err != nil {
			t.Errorf("a pod without accelerators: %v", err)
		}
		await(ctx, t, r, "the pod without accelerators runs", running(r, "red-enforce", "cpu", 1))
	})
}

// TestValidatorOfTheGPUOperator replays what NVIDIA's operator creates on each node: a pod
// with one GPU that names its node, made by the validator's service account.
func TestValidatorOfTheGPUOperator(t *testing.T) {
	onNative(t, rig.Options{Nodes: nodes, Webhooks: 1}, func(ctx context.Context, t *testing.T, r *rig.Rig) {
		const namespace, account = "gpu-operator", "nvidia-operator-validator"
		if err := r.Namespace(ctx, namespace, map[string]string{v1alpha1.LabelMode: string(v1alpha1.ModeEnforce)}); err != nil {
			t.Fatal(err)
		}
		user := "system:serviceaccount:" + namespace + ":" + account
		if _, err := r.Client.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "validator"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: account}},
		}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		validator := gpus(namespace, "nvidia-cuda-validator-x", 1)
		validator.Spec.NodeName = "gpu-a"
		refused(ctx, t, r, validator.DeepCopy(), "namespace gpu-operator has no team")

		config := r.Cluster.Config()
		config.Impersonate.UserName = user
		config.Impersonate.Groups = []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"}
		operator, err := kubernetes.NewForConfig(config)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := operator.CoreV1().Pods(namespace).Create(ctx, validator, metav1.CreateOptions{}); err != nil {
			t.Fatalf("the validator's pod: %v", err)
		}
		await(ctx, t, r, "the validator runs", func() bool {
			p := r.Watch.Pod(namespace, validator.Name)
			return p != nil && p.Phase == corev1.PodRunning
		})
	})
}

// TestConfigurationIsCheckedWhenWritten: a ConfigMap that is not valid is refused with
// everything that is wrong, and what was in force stays.
func TestConfigurationIsCheckedWhenWritten(t *testing.T) {
	onNative(t, rig.Options{Nodes: nodes, Webhooks: 1}, func(ctx context.Context, t *testing.T, r *rig.Rig) {
		redTeam(ctx, t, r)
		tests := map[string]struct {
			name, key, text string
			want            []string
		}{
			"teams": {
				name: v1alpha1.QuotaConfigMap, key: v1alpha1.QuotaKey,
				text: "teams: [{name: a, groups: [g], limits: {devices: -1}}, {name: a, groups: [g], limits: {classes: {nvidia.com/gpus: 1}}}]",
				want: []string{"teams[0].limits.devices", "teams[1].name", "teams[1].groups[0]", "nvidia.com/gpus"},
			},
			"a field that does not exist": {
				name: v1alpha1.QuotaConfigMap, key: v1alpha1.QuotaKey, text: "team: []", want: []string{`"team"`},
			},
			"a megabyte of teams": {
				name: v1alpha1.QuotaConfigMap, key: v1alpha1.QuotaKey, text: "teams:\n" + strings.Repeat("- {name: a, limits: {}}\n", 40000), want: []string{"teams[1].name"},
			},
			"prices": {
				name: v1alpha1.PricesConfigMap, key: v1alpha1.PricesKey,
				text: "rules: [{product: X, perDeviceHour: 0}, {instanceType: big, perInstanceHour: much}]",
				want: []string{"rules[0].perDeviceHour", "rules[1].perInstanceHour"},
			},
		}
		for name, test := range tests {
			t.Run(name, func(t *testing.T) {
				err := r.SetConfig(ctx, test.name, test.key, test.text)
				if err == nil {
					t.Fatal("it was accepted")
				}
				for _, word := range test.want {
					if !strings.Contains(err.Error(), word) {
						t.Errorf("the refusal lacks %q: %.500s", word, err)
					}
				}
				if len(err.Error()) > 20000 {
					t.Errorf("a refusal of %d bytes", len(err.Error()))
				}
			})
		}
		refused(ctx, t, r, gpus("red-enforce", "p", 2), "team red is over quota")
	})
}

// TestAPodOfManyContainersIsUnderstood: the conditions that keep other pods away from the
// webhook, and the count, hold for the largest pods.
func TestAPodOfManyContainersIsUnderstood(t *testing.T) {
	onNative(t, rig.Options{Nodes: nodes, Webhooks: 1}, func(ctx context.Context, t *testing.T, r *rig.Rig) {
		redTeam(ctx, t, r)
		pod := rig.Workload{Namespace: "red-enforce", Name: "many"}.Pod("many")
		for i := range 200 {
			container := pod.Spec.Containers[0].DeepCopy()
			container.Name = fmt.Sprintf("c%d", i)
			container.Resources.Limits = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("200m"), corev1.ResourceMemory: resource.MustParse("256Mi")}
			pod.Spec.Containers = append(pod.Spec.Containers, *container)
		}
		if _, err := r.DryRun(ctx, pod); err != nil {
			t.Errorf("200 containers without accelerators: %v", err)
		}
		for i := range 2 {
			pod.Spec.Containers[199+i].Resources.Limits["nvidia.com/gpu"] = resource.MustParse("1")
		}
		refused(ctx, t, r, pod, "wants 2 nvidia.com/gpu")
	})
}
