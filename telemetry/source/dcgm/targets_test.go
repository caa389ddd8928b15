package dcgm

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func exporterPod(change func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "gpu-operator", Name: "dcgm-exporter-x"},
		Spec: corev1.PodSpec{NodeName: "node-1", Containers: []corev1.Container{
			{Name: "side", Ports: []corev1.ContainerPort{{Name: "health", ContainerPort: 8080}}},
			{Name: "exporter", Ports: []corev1.ContainerPort{{Name: "metrics", ContainerPort: 9401}}},
		}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "192.0.2.7"},
	}
	change(pod)
	return pod
}

func TestTargetsFromPods(t *testing.T) {
	tests := map[string]struct {
		change  func(*corev1.Pod)
		wantURL string // empty: no target
	}{
		"port by name":         {func(*corev1.Pod) {}, "http://192.0.2.7:9401/metrics"},
		"no such port":         {func(p *corev1.Pod) { p.Spec.Containers = p.Spec.Containers[:1] }, "http://192.0.2.7:9400/metrics"},
		"no containers":        {func(p *corev1.Pod) { p.Spec.Containers = nil }, "http://192.0.2.7:9400/metrics"},
		"named port is UDP":    {func(p *corev1.Pod) { p.Spec.Containers[1].Ports[0].Protocol = corev1.ProtocolUDP }, "http://192.0.2.7:9400/metrics"},
		"named port is TCP":    {func(p *corev1.Pod) { p.Spec.Containers[1].Ports[0].Protocol = corev1.ProtocolTCP }, "http://192.0.2.7:9401/metrics"},
		"IPv6":                 {func(p *corev1.Pod) { p.Status.PodIP = "2001:db8::7" }, "http://[2001:db8::7]:9401/metrics"},
		"no annotation matter": {func(p *corev1.Pod) { p.Annotations = map[string]string{"prometheus.io/port": "1"} }, "http://192.0.2.7:9401/metrics"},
		"pending":              {func(p *corev1.Pod) { p.Status.Phase = corev1.PodPending }, ""},
		"failed":               {func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }, ""},
		"without address":      {func(p *corev1.Pod) { p.Status.PodIP = "" }, ""},
		"being deleted":        {func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: fetchedAt} }, ""},
	}
	for label, test := range tests {
		t.Run(label, func(t *testing.T) {
			pod := exporterPod(test.change)
			before := pod.DeepCopy()
			var want []Target
			if test.wantURL != "" {
				want = []Target{{URL: test.wantURL, Node: "node-1", Namespace: "gpu-operator", Pod: "dcgm-exporter-x"}}
			}
			got := TargetsFromPods([]*corev1.Pod{pod})
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("targets differ (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, pod); diff != "" {
				t.Errorf("the pod was changed (-before +after):\n%s", diff)
			}
			for _, target := range got {
				if err := target.Validate(); err != nil {
					t.Errorf("a discovered target is not valid: %v", err)
				}
			}
		})
	}
}

func TestParseTargets(t *testing.T) {
	got, err := ParseTargets([]string{
		"http://192.0.2.1:9400/metrics",
		"node-2=https://exporter.gpu.svc:9400/metrics?collect=a",
		"http://[2001:db8::1]:9400/metrics?a=b",
	})
	want := []Target{
		{URL: "http://192.0.2.1:9400/metrics"},
		{URL: "https://exporter.gpu.svc:9400/metrics?collect=a", Node: "node-2"},
		{URL: "http://[2001:db8::1]:9400/metrics?a=b"},
	}
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("targets differ (-want +got):\n%s", diff)
	}
}

func TestParseTargetsNamesEveryFault(t *testing.T) {
	got, err := ParseTargets([]string{
		"http://good:9400/metrics", "", "node=", "ftp://host/metrics", "http:///metrics",
		"http://user:secret@host/metrics", "http://user:secret@host:bad port/", "192.0.2.1:9400",
	})
	if got != nil || err == nil {
		t.Fatalf("targets %v, error %v; want an error and no targets", got, err)
	}
	for _, want := range []string{
		`targets[1]: url: scheme "" is`, `targets[2]: url: scheme "" is`, `targets[3]: url: scheme "ftp" is`,
		"targets[4]: url: has no host", "targets[5]: url: must not hold a user", "targets[6]: url: cannot be parsed",
		"targets[7]: url: cannot be parsed",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error lacks %q:\n%v", want, err)
		}
	}
	if strings.Contains(err.Error(), "secret") {
		t.Errorf("the error shows a password:\n%v", err)
	}
}
