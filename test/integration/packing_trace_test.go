//go:build integration

package integration

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"wastenot.dev/placement/podrequest"
	"wastenot.dev/test/fixture/rig"
	"wastenot.dev/test/perf/packing/policy"
	"wastenot.dev/test/perf/packing/replay"
	"wastenot.dev/test/perf/packing/trace"
)

const (
	// packingNodes is about how many nodes the scaled-down trace has; the variable takes
	// more.
	packingNodes    = 48
	packingNodesEnv = "WASTENOT_PACKING_NODES"
	// packingDemand is what is asked for, as a share of what there is.
	packingDemand = 1.2
	packingSeed   = 1

	// slicedModel is the model whose nodes are time-sliced, each device into replicas.
	slicedModel = "T4"
	replicas    = 2
)

// scaledDown is a part of the openb trace that device plugins can express: fractions of a
// device are time slices of one size on one model, all other models are given out whole.
type scaledDown struct {
	nodes    []trace.Node
	arrivals []trace.Pod
}

// poolOf is how the nodes of a model offer their devices.
func poolOf(model string) policy.Pool {
	if model == slicedModel {
		return policy.Pool{Resource: rig.ResourceShared, Units: replicas}
	}
	return policy.Pool{Resource: rig.ResourceGPU, Units: 1}
}

// readScaledDown draws nodes of every kind and pods of both resources, each up to the
// demand, in an order of its own.
func readScaledDown(t *testing.T) *scaledDown {
	t.Helper()
	dir := filepath.Join("..", "perf", "packing", "testdata", "openb")
	all, err := trace.ReadNodes(trace.NodeFile(dir))
	if err != nil {
		t.Fatal(err)
	}
	s := &scaledDown{nodes: someOfEach(all, nodeCount(t))}
	random := rand.New(rand.NewPCG(packingSeed, 0))
	whole, sliced := s.expressible(readPods(t, dir))
	for resource, pods := range map[string][]trace.Pod{rig.ResourceGPU: whole, rig.ResourceShared: sliced} {
		var offered []trace.Node
		for _, node := range s.nodes {
			if poolOf(node.Model).Resource == resource {
				offered = append(offered, node)
			}
		}
		arrivals, err := trace.Tune(pods, packingSeed, packingDemand, trace.CapacityMilli(offered))
		if err != nil {
			t.Fatal(err)
		}
		s.arrivals = append(s.arrivals, arrivals...)
	}
	slices.SortFunc(s.arrivals, func(a, b trace.Pod) int { return strings.Compare(a.Name, b.Name) })
	random.Shuffle(len(s.arrivals), func(i, j int) { s.arrivals[i], s.arrivals[j] = s.arrivals[j], s.arrivals[i] })
	return s
}

// readPods returns the pods of two workloads: in one many name models, in the other many
// ask for several devices.
func readPods(t *testing.T, dir string) []trace.Pod {
	t.Helper()
	var both []trace.Pod
	for _, workload := range []string{"gpuspec20", "multigpu30"} {
		pods, err := trace.ReadPods(trace.PodFile(dir, workload))
		if err != nil {
			t.Fatal(err)
		}
		for _, pod := range pods {
			pod.Name += "-" + workload
			both = append(both, pod)
		}
	}
	return both
}

func nodeCount(t *testing.T) int {
	t.Helper()
	text := os.Getenv(packingNodesEnv)
	if text == "" {
		return packingNodes
	}
	count, err := strconv.Atoi(text)
	if err != nil || count < 1 {
		t.Fatalf("%s is %q, want a number of nodes", packingNodesEnv, text)
	}
	return count
}

// someOfEach returns about count nodes, of each kind of machine its share and at least
// one.
func someOfEach(nodes []trace.Node, count int) []trace.Node {
	byKind := map[string][]trace.Node{}
	for _, node := range nodes {
		kind := fmt.Sprint(node.Model, node.GPUs, node.CPUMilli, node.MemoryMiB)
		byKind[kind] = append(byKind[kind], node)
	}
	var some []trace.Node
	for _, alike := range byKind {
		some = append(some, alike[:min(max(len(alike)*count/len(nodes), 1), len(alike))]...)
	}
	slices.SortFunc(some, func(a, b trace.Node) int { return strings.Compare(a.Name, b.Name) })
	return some
}

// expressible returns the pods that ask for whole devices and those that ask for less,
// the latter for one slice. Each names the models that may serve it. Pods without devices
// are left out, for our plugin does not place them, and so are those that no node serves.
func (s *scaledDown) expressible(pods []trace.Pod) (whole, sliced []trace.Pod) {
	models := s.models(rig.ResourceGPU)
	for _, pod := range pods {
		switch {
		case pod.GPUs == 0:
		case pod.Fractional():
			pod.GPUMilli, pod.Models = trace.WholeMilli/replicas, []string{slicedModel}
			sliced = append(sliced, pod)
		default:
			if len(pod.Models) == 0 {
				pod.Models = models
			}
			if slices.ContainsFunc(s.nodes, func(n trace.Node) bool {
				return poolOf(n.Model).Resource == rig.ResourceGPU && pod.Accepts(n.Model) && n.GPUs >= pod.GPUs
			}) {
				pod.Models = slices.DeleteFunc(slices.Clone(pod.Models), func(model string) bool { return !slices.Contains(models, model) })
				whole = append(whole, pod)
			}
		}
	}
	return whole, sliced
}

// models are those of the nodes that offer the resource, sorted.
func (s *scaledDown) models(resource string) []string {
	var models []string
	for _, node := range s.nodes {
		if poolOf(node.Model).Resource == resource {
			models = append(models, node.Model)
		}
	}
	slices.Sort(models)
	return slices.Compact(models)
}

// experiment is what the harness replays.
func (s *scaledDown) experiment() *replay.Experiment {
	return &replay.Experiment{Nodes: s.nodes, Arrivals: s.arrivals, Seed: packingSeed}
}

// specs are the simulated nodes.
func (s *scaledDown) specs() []rig.NodeSpec {
	specs := make([]rig.NodeSpec, len(s.nodes))
	for i, node := range s.nodes {
		specs[i] = rig.NodeSpec{
			Name: node.Name, Model: node.Model, GPUs: node.GPUs,
			CPU: *resource.NewMilliQuantity(node.CPUMilli, resource.DecimalSI), Memory: *resource.NewQuantity(node.MemoryMiB<<20, resource.BinarySI),
		}
		if pool := poolOf(node.Model); pool.Resource == rig.ResourceShared {
			specs[i].Kind, specs[i].Replicas = rig.TimeSliced, int(pool.Units)
		}
	}
	return specs
}

// pod is what a user would send for an arrival.
func (s *scaledDown) pod(seq int) *corev1.Pod {
	arrival := &s.arrivals[seq]
	offered := poolOf(arrival.Models[0]).Resource
	pod := rig.Workload{Namespace: packingNamespace, Name: "packed", Resource: offered, Count: int64(arrival.GPUs)}.Pod(podName(seq))
	pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewMilliQuantity(arrival.CPUMilli, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(arrival.MemoryMiB<<20, resource.BinarySI),
	}
	for _, model := range s.models(offered) {
		if !arrival.Accepts(model) {
			pod.Spec.Affinity = onModels(arrival.Models)
			break
		}
	}
	return pod
}

func podName(seq int) string { return fmt.Sprintf("packed-%d", seq) }

func onModels(models []string) *corev1.Affinity {
	return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
			{Key: podrequest.LabelProduct, Operator: corev1.NodeSelectorOpIn, Values: models},
		}}},
	}}}
}
