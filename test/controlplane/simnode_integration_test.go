//go:build integration

package controlplane_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"wastenot.dev/test/controlplane/simnode"
)

const (
	namespace = "default"
	gpu       = "nvidia.com/gpu"

	awaitPoll = 20 * time.Millisecond
)

func gpuNodes(count, gpusEach int) []simnode.Node {
	nodes := make([]simnode.Node, count)
	for i := range nodes {
		nodes[i].Name = fmt.Sprintf("node-%d", i)
		for j := range gpusEach {
			nodes[i].Devices = append(nodes[i].Devices,
				simnode.Device{ID: fmt.Sprintf("GPU-%d-%d", i, j), Resource: gpu, Healthy: true})
		}
	}
	return nodes
}

func (s *suite) startFleet(ctx context.Context, t *testing.T) {
	t.Helper()
	options := simnode.Options{Seed: 1}
	if s.fleet != nil {
		options.Adopt = s.fleet.Assignments()
	}
	fleet, err := simnode.Start(ctx, s.Config(), gpuNodes(3, 4), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fleet.Stop)
	s.fleet = fleet
}

// spec of a pod that no scheduler takes.
func spec(gpus string) corev1.PodSpec {
	return corev1.PodSpec{
		SchedulerName: "none",
		RestartPolicy: corev1.RestartPolicyNever,
		Containers: []corev1.Container{{
			Name: "main", Image: "example.com/none",
			Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{gpu: resource.MustParse(gpus)}},
		}},
	}
}

func (s *suite) create(ctx context.Context, name, gpus string) error {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec(gpus)}
	_, err := s.Client().CoreV1().Pods(namespace).Create(ctx, pod, metav1.CreateOptions{})
	return err
}

// bind does what a scheduler does last.
func (s *suite) bind(ctx context.Context, name, node string) error {
	binding := &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
		Target:     corev1.ObjectReference{Kind: "Node", Name: node},
	}
	return s.Client().CoreV1().Pods(namespace).Bind(ctx, binding, metav1.CreateOptions{})
}

func (s *suite) createAndBind(ctx context.Context, t *testing.T, name, gpus, node string) {
	t.Helper()
	if err := s.create(ctx, name, gpus); err != nil {
		t.Fatal(err)
	}
	if err := s.bind(ctx, name, node); err != nil {
		t.Fatal(err)
	}
}

// await polls until done or until the test's patience is over.
func await(ctx context.Context, t *testing.T, what string, done func(context.Context) (bool, error)) {
	t.Helper()
	if err := wait.PollUntilContextCancel(ctx, awaitPoll, true, done); err != nil {
		t.Fatalf("waiting for %s: %v", what, err)
	}
}

func (s *suite) awaitPod(ctx context.Context, t *testing.T, name string, phase corev1.PodPhase) *corev1.Pod {
	t.Helper()
	var pod *corev1.Pod
	await(ctx, t, fmt.Sprintf("pod %s to be %s", name, phase), func(ctx context.Context) (bool, error) {
		var err error
		pod, err = s.Client().CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
		return err == nil && pod.Status.Phase == phase, err
	})
	return pod
}

// published returns the ids in a pod's status with their health.
func published(pod *corev1.Pod) map[string]string {
	ids := map[string]string{}
	for _, status := range pod.Status.ContainerStatuses {
		for _, allocated := range status.AllocatedResourcesStatus {
			for _, device := range allocated.Resources {
				ids[string(device.ResourceID)] = string(device.Health)
			}
		}
	}
	return ids
}

// held returns the ids that the fleet says a pod holds, sorted.
func (s *suite) held(node, pod string) []string {
	var ids []string
	for id, holder := range s.fleet.Holders(node) {
		if holder.Name == pod {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

func (s *suite) testRun(ctx context.Context, t *testing.T) {
	s.createAndBind(ctx, t, "first", "2", "node-0")
	pod := s.awaitPod(ctx, t, "first", corev1.PodRunning)
	held := s.held("node-0", "first")
	if len(held) != 2 {
		t.Fatalf("holds %v, want 2 devices", held)
	}
	wantIDs := map[string]string{}
	if s.publishesIDs {
		wantIDs = map[string]string{held[0]: "Healthy", held[1]: "Healthy"}
	}
	if diff := cmp.Diff(wantIDs, published(pod)); diff != "" {
		t.Errorf("published ids (-want +got):\n%s", diff)
	}
}

// testReject needs the pod of testRun.
func (s *suite) testReject(ctx context.Context, t *testing.T) {
	s.createAndBind(ctx, t, "second", "3", "node-0")
	pod := s.awaitPod(ctx, t, "second", corev1.PodFailed)
	const wantMessage = "Pod was rejected: Allocate failed due to requested number of devices unavailable for nvidia.com/gpu. " +
		"Requested: 3, Available: 2, which is unexpected"
	if pod.Status.Reason != "UnexpectedAdmissionError" || pod.Status.Message != wantMessage {
		t.Errorf("got %q %q, want UnexpectedAdmissionError %q", pod.Status.Reason, pod.Status.Message, wantMessage)
	}
	await(ctx, t, "the event", func(ctx context.Context) (bool, error) {
		list, err := s.Client().CoreV1().Events(namespace).List(ctx, metav1.ListOptions{
			FieldSelector: "involvedObject.name=second,reason=UnexpectedAdmissionError",
		})
		return err == nil && len(list.Items) == 1, err
	})
}

// testHealth needs the pod of testRun.
func (s *suite) testHealth(ctx context.Context, t *testing.T) {
	bad := s.held("node-0", "first")[0]
	if err := s.fleet.SetDeviceHealth("node-0", bad, false); err != nil {
		t.Fatal(err)
	}
	await(ctx, t, "allocatable to fall", func(ctx context.Context) (bool, error) {
		node, err := s.Client().CoreV1().Nodes().Get(ctx, "node-0", metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		all, usable := node.Status.Capacity[gpu], node.Status.Allocatable[gpu]
		return all.Value() == 4 && usable.Value() == 3, nil
	})
	if !s.publishesIDs {
		return
	}
	await(ctx, t, "the holder's status", func(ctx context.Context) (bool, error) {
		pod, err := s.Client().CoreV1().Pods(namespace).Get(ctx, "first", metav1.GetOptions{})
		return err == nil && published(pod)[bad] == "Unhealthy", err
	})
}

// testDelete needs the pod of testRun.
func (s *suite) testDelete(ctx context.Context, t *testing.T) {
	if err := s.Client().CoreV1().Pods(namespace).Delete(ctx, "first", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	await(ctx, t, "the pod to go", func(ctx context.Context) (bool, error) {
		_, err := s.Client().CoreV1().Pods(namespace).Get(ctx, "first", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return true, nil
		}
		return false, err
	})
	if held := s.fleet.Holders("node-0"); len(held) != 0 {
		t.Errorf("held after the pod is gone: %v", held)
	}
	s.createAndBind(ctx, t, "third", "3", "node-0") // as many as are healthy
	s.awaitPod(ctx, t, "third", corev1.PodRunning)
}

// testJob lets the Job controller make the pod and count its success.
func (s *suite) testJob(ctx context.Context, t *testing.T) {
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "short"}}
	job.Spec.Template.Annotations = map[string]string{simnode.RunFor: "10ms"}
	job.Spec.Template.Spec = spec("1")
	if _, err := s.Client().BatchV1().Jobs(namespace).Create(ctx, job, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	var name string
	await(ctx, t, "the pod of the Job", func(ctx context.Context) (bool, error) {
		pods, err := s.Client().CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: "job-name=short"})
		if err != nil || len(pods.Items) == 0 {
			return false, err
		}
		name = pods.Items[0].Name
		return true, nil
	})
	if err := s.bind(ctx, name, "node-1"); err != nil {
		t.Fatal(err)
	}
	await(ctx, t, "the Job to succeed", func(ctx context.Context) (bool, error) {
		job, err := s.Client().BatchV1().Jobs(namespace).Get(ctx, "short", metav1.GetOptions{})
		return err == nil && job.Status.Succeeded == 1, err
	})
	if held := s.fleet.Holders("node-1"); len(held) != 0 {
		t.Errorf("held after the Job is over: %v", held)
	}
}

// testRestart needs the pod of testDelete.
func (s *suite) testRestart(ctx context.Context, t *testing.T) {
	before := s.held("node-0", "third")
	s.fleet.Stop()
	s.createAndBind(ctx, t, "late", "2", "node-0") // one device is free; two would be had "third" been forgotten
	s.startFleet(ctx, t)
	s.awaitPod(ctx, t, "late", corev1.PodFailed)
	if diff := cmp.Diff(before, s.held("node-0", "third")); diff != "" {
		t.Errorf("held by the running pod (-before +after):\n%s", diff)
	}
}
