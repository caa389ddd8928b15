//go:build integration

package integration

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/test/fixture/rig"
)

// TestShippedPodsAreAdmitted: the API server takes the Deployments as they are shipped,
// and the pods that come of them: by pod security, the quota and the service account.
func TestShippedPodsAreAdmitted(t *testing.T) {
	onEachVersion(t, func(ctx context.Context, t *testing.T, r *rig.Rig) {
		// The quota admits nothing until its controller has counted once.
		await(ctx, t, r, "the quota is counted", func() bool {
			quota, err := r.Client.CoreV1().ResourceQuotas(v1alpha1.SystemNamespace).Get(ctx, "wastenot-critical-pods", metav1.GetOptions{})
			return err == nil && len(quota.Status.Hard) > 0
		})
		for _, component := range []string{"scheduler", "telemetry"} {
			t.Run(component, func(t *testing.T) {
				text, deployment := shippedDeployment(t, component)
				force := true
				if _, err := r.Client.AppsV1().Deployments(v1alpha1.SystemNamespace).Patch(ctx, deployment.Name, types.ApplyPatchType, text,
					metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}, FieldManager: "test", Force: &force}); err != nil {
					t.Errorf("the Deployment: %v", err)
				}
				if err := admit(ctx, r, podOf(deployment)); err != nil {
					t.Errorf("its pod: %v", err)
				}
				// Pod security is enforced here: less of a security context is refused.
				bare := podOf(deployment)
				bare.Spec.Containers[0].SecurityContext = nil
				if err := admit(ctx, r, bare); err == nil {
					t.Error("a pod without a security context is admitted too")
				}
			})
		}
	})
}

// shippedDeployment reads manifests/base/COMPONENT/deployment.yaml, as text and decoded.
func shippedDeployment(t *testing.T, component string) ([]byte, *appsv1.Deployment) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "manifests", "base", component, "deployment.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	deployment := &appsv1.Deployment{}
	if err := yaml.UnmarshalStrict(text, deployment); err != nil {
		t.Fatal(err)
	}
	return text, deployment
}

func podOf(deployment *appsv1.Deployment) *corev1.Pod {
	template := deployment.Spec.Template.DeepCopy()
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: deployment.Name + "-0", Labels: template.Labels},
		Spec:       template.Spec,
	}
}

// admit asks the API server whether it would take the pod, and leaves nothing behind.
func admit(ctx context.Context, r *rig.Rig, pod *corev1.Pod) error {
	_, err := r.Client.CoreV1().Pods(v1alpha1.SystemNamespace).Create(ctx, pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}
