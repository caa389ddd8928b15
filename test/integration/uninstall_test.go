//go:build integration

package integration

import (
	"context"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/test/fixture/rig"
)

// TestUninstalledPodsFallBack: pods that wait for our scheduler when the chart is taken
// away are placed by the cluster's own after the step that docs/install.md names, and
// what runs keeps running.
func TestUninstalledPodsFallBack(t *testing.T) {
	onNative(t, rig.Options{Nodes: nodes, Webhooks: 1, Helm: true}, func(ctx context.Context, t *testing.T, r *rig.Rig) {
		deploy(ctx, t, r, "early")
		await(ctx, t, r, "the early pod runs", func() bool { return phase(r, "early") == corev1.PodRunning })
		r.Scheduler.Kill()
		deploy(ctx, t, r, "late")
		await(ctx, t, r, "the late pod is there", func() bool { return r.Count(of("late")) == 1 })
		if late := podOfDeployment(r, "late"); late.Scheduler != v1alpha1.SchedulerName || late.Node != "" {
			t.Fatalf("the late pod names scheduler %s and is on node %q", late.Scheduler, late.Node)
		}

		if err := r.RunHelm(ctx, "uninstall", "wastenot", "--wait"); err != nil {
			t.Fatal(err)
		}
		for _, process := range append(r.Webhooks, r.Telemetry) {
			process.Kill()
		}
		waiting := metav1.ListOptions{FieldSelector: "spec.schedulerName=" + v1alpha1.SchedulerName + ",status.phase=Pending"}
		if err := r.Client.CoreV1().Pods("users").DeleteCollection(ctx, metav1.DeleteOptions{}, waiting); err != nil {
			t.Fatal(err)
		}
		if err := r.StartStockScheduler(ctx); err != nil {
			t.Fatal(err)
		}
		await(ctx, t, r, "the late pod runs", func() bool { return phase(r, "late") == corev1.PodRunning })
		late := podOfDeployment(r, "late")
		if late.Scheduler != corev1.DefaultSchedulerName {
			t.Errorf("the late pod names scheduler %s", late.Scheduler)
		}
		for key := range late.Annotations {
			if strings.Contains(key, "wastenot.dev/") {
				t.Errorf("the late pod bears %s", key)
			}
		}
		if phase(r, "early") != corev1.PodRunning || r.Count(of("early")) != 1 {
			t.Error("the early pod did not keep running")
		}
	})
}

// deploy makes a Deployment of one pod with one GPU.
func deploy(ctx context.Context, t *testing.T, r *rig.Rig, name string) {
	t.Helper()
	if err := r.Namespace(ctx, "users", nil); err != nil {
		t.Fatal(err)
	}
	template := gpus("users", name, 1)
	template.Spec.RestartPolicy = corev1.RestartPolicyAlways
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: template.Labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: template.Labels}, Spec: template.Spec},
		},
	}
	if _, err := r.Client.AppsV1().Deployments("users").Create(ctx, deployment, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func of(deployment string) func(rig.Pod) bool {
	return func(p rig.Pod) bool { return p.Namespace == "users" && strings.HasPrefix(p.Name, deployment+"-") }
}

// podOfDeployment is the Deployment's pod that is not gone.
func podOfDeployment(r *rig.Rig, deployment string) rig.Pod {
	for _, p := range r.Watch.Pods() {
		if !p.Deleted && of(deployment)(p) {
			return p
		}
	}
	return rig.Pod{}
}

func phase(r *rig.Rig, deployment string) corev1.PodPhase {
	return podOfDeployment(r, deployment).Phase
}
