package app

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	toolscache "k8s.io/client-go/tools/cache"

	"wastenot.dev/internal/fleet"
	"wastenot.dev/telemetry/mix"
	"wastenot.dev/telemetry/sample"
	"wastenot.dev/telemetry/source/dcgm"
)

var (
	dcgmTarget = dcgm.Target{URL: "http://192.0.2.1:9400/metrics", Node: "node-1"}
	errRefused = errors.New("connection refused")
	errOther   = errors.New("no route")
)

func exporter(name, node, address string, pairs map[string]string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "gpu-operator", Name: name, Labels: pairs},
		Spec:       corev1.PodSpec{NodeName: node},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning, PodIP: address},
	}
}

// following is a discovery that runs, and what it set.
type following struct {
	t      *testing.T
	client *fake.Clientset
	sets   chan []dcgm.Target
}

// follow runs a discovery until the test ends, and sees that it ends.
func follow(t *testing.T, static []dcgm.Target, texts []string, pods ...runtime.Object) *following {
	t.Helper()
	f := &following{t: t, client: fake.NewClientset(pods...), sets: make(chan []dcgm.Target, 64)}
	d, err := newDiscovery(f.client, &config{targets: static, selectors: selectors(t, texts), namespaces: []string{"gpu-operator"}}, func(targets []dcgm.Target) { f.sets <- targets })
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	d.start(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		d.run(ctx)
	}()
	t.Cleanup(func() { cancel(); <-ended })
	if err := d.awaitPods(ctx); err != nil {
		t.Fatal(err)
	}
	return f
}

// await returns once the targets are on those nodes.
func (f *following) await(want ...string) {
	f.t.Helper()
	for targets := range f.sets {
		if slices.Equal(nodes(targets), want) {
			return
		}
	}
}

var (
	chart    = map[string]string{"app.kubernetes.io/name": "dcgm-exporter"}
	operator = map[string]string{"app": "nvidia-dcgm-exporter"}
)

func TestTargetsAreThoseOfEverySelectorAndTheStaticOnes(t *testing.T) {
	t.Parallel()
	// A pod that two selectors choose is in the set twice; the runner reads it once.
	follow(t, []dcgm.Target{{URL: "http://198.51.100.1:9400/metrics", Node: "bare-metal"}}, NewOptions().ExporterSelectors,
		exporter("chart", "node-1", "192.0.2.1", chart),
		exporter("operator", "node-2", "192.0.2.2", operator),
		exporter("both", "node-3", "192.0.2.3", map[string]string{"app.kubernetes.io/name": "dcgm-exporter", "app": "nvidia-dcgm-exporter"}),
		exporter("web", "node-4", "192.0.2.9", map[string]string{"app": "web"}),
	).await("bare-metal", "node-1", "node-2", "node-3")
}

func TestTargetsFollowPods(t *testing.T) {
	t.Parallel()
	f := follow(t, nil, []string{"app=nvidia-dcgm-exporter"},
		exporter("one", "node-1", "192.0.2.1", operator), exporter("two", "node-2", "192.0.2.2", operator))
	f.await("node-1", "node-2")
	pods := f.client.CoreV1().Pods("gpu-operator")

	if _, err := pods.Create(t.Context(), exporter("late", "node-3", "192.0.2.3", operator), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	f.await("node-1", "node-2", "node-3")

	done := exporter("one", "node-1", "192.0.2.1", operator)
	done.Status.Phase = corev1.PodFailed
	if _, err := pods.Update(t.Context(), done, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	f.await("node-2", "node-3")

	if err := pods.Delete(t.Context(), "two", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	f.await("node-3")
}

func nodes(targets []dcgm.Target) []string {
	var names []string
	for _, target := range targets {
		names = append(names, target.Node)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func selectors(t *testing.T, texts []string) []labels.Selector {
	t.Helper()
	var out []labels.Selector
	for _, text := range texts {
		selector, err := parseSelector(text)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, selector)
	}
	return out
}

func TestAwaitingPodsEndsWithTheService(t *testing.T) {
	t.Parallel()
	d, err := newDiscovery(fake.NewClientset(), &config{selectors: selectors(t, []string{"app=a"})}, func([]dcgm.Target) {})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	d.start(ctx)
	if err := d.awaitPods(ctx); err == nil || !strings.Contains(err.Error(), "exporter pods") {
		t.Errorf("error %v", err)
	}
	d.run(ctx)
}

func TestGroupIsTheMostSpecificPoolLabel(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		labels map[string]string
		want   string
	}{
		"none":                    {nil, ""},
		"other labels":            {map[string]string{"pool": "a"}, ""},
		"EKS":                     {map[string]string{"eks.amazonaws.com/nodegroup": "gpu"}, "gpu"},
		"GKE":                     {map[string]string{"cloud.google.com/gke-nodepool": "gpu"}, "gpu"},
		"AKS has two spellings":   {map[string]string{"agentpool": "old", "kubernetes.azure.com/agentpool": "new"}, "new"},
		"Karpenter on EKS":        {map[string]string{"eks.amazonaws.com/nodegroup": "base", "karpenter.sh/nodepool": "gpu"}, "gpu"},
		"Cluster API":             {map[string]string{"node.cluster.x-k8s.io/machinepool": "gpu"}, "gpu"},
		"an empty label is none":  {map[string]string{"karpenter.sh/nodepool": "", "agentpool": "gpu"}, "gpu"},
		"eksctl before managed":   {map[string]string{"alpha.eksctl.io/nodegroup-name": "gpu"}, "gpu"},
		"DigitalOcean and Oracle": {map[string]string{"oci.oraclecloud.com/node-pool": "o", "doks.digitalocean.com/node-pool": "d"}, "d"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := groupOf(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: test.labels}}); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestNodesAreFollowed(t *testing.T) {
	t.Parallel()
	s, _ := newService(t)
	handler := nodeHandler(s.store, []string{"topology.kubernetes.io/zone", "absent"})
	node := func(name, zone string) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			"topology.kubernetes.io/zone": zone, "agentpool": "gpu", "secret": "not chosen",
		}}}
	}
	published := func() map[string]map[string]string {
		out := map[string]map[string]string{}
		for name, n := range s.store.Snapshot().Nodes {
			out[name+" in "+n.Group] = n.Labels
		}
		return out
	}
	want := func(what string, want map[string]map[string]string) {
		t.Helper()
		if diff := cmp.Diff(want, published()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	handler.OnAdd(node("node-1", "z1"), true)
	handler.OnAdd(node("node-2", "z1"), true)
	for _, name := range []string{"node-1", "node-2"} {
		if err := s.store.Accept(batch(name, "GPU-"+name, sample.Known(0))); err != nil {
			t.Fatal(err)
		}
	}
	chosen := func(zone string) map[string]string { return map[string]string{"topology.kubernetes.io/zone": zone} }
	want("added", map[string]map[string]string{"node-1 in gpu": chosen("z1"), "node-2 in gpu": chosen("z1")})
	handler.OnUpdate(node("node-1", "z1"), node("node-1", "z2"))
	want("changed", map[string]map[string]string{"node-1 in gpu": chosen("z2"), "node-2 in gpu": chosen("z1")})
	handler.OnDelete(node("node-1", "z2"))
	handler.OnDelete(toolscache.DeletedFinalStateUnknown{Key: "node-2", Obj: node("node-2", "z1")})
	handler.OnDelete(toolscache.DeletedFinalStateUnknown{Key: "node-3", Obj: nil})
	want("deleted", map[string]map[string]string{})
}

// The first word of a service to those who watch already has the mix.
func TestMixIsPublishedBeforeTheFleetIsServed(t *testing.T) {
	t.Parallel()
	s, _ := newService(t)
	s.config = &config{mix: mix.DefaultPolicy()}
	pod := exporter("train-0", "", "", nil)
	pod.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"nvidia.com/gpu": apiresource.MustParse("4")}}}}
	s.client = fake.NewClientset(pod)
	ctx, cancel := context.WithCancelCause(t.Context())
	s.cancel = cancel
	if err := s.learnMix(ctx); err != nil {
		t.Fatal(err)
	}
	want := &fleet.Mix{Items: []fleet.MixItem{{Kind: "nvidia.com/gpu", Count: 4, Milli: 1000, Weight: 1 << 10}}}
	if diff := cmp.Diff(want, s.store.Snapshot().Mix); diff != "" {
		t.Errorf("mix (-want +got):\n%s", diff)
	}
	cancel(nil)
	s.group.Wait()

	if err := s.learnMix(ctx); err == nil || !strings.Contains(err.Error(), "listing pods") {
		t.Errorf("error %v after the end", err)
	}
}
