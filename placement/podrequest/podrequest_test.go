package podrequest

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"wastenot.dev/placement/packing"
)

// asking is a container that requests "RESOURCE=AMOUNT ...".
func asking(text string) corev1.Container {
	list := corev1.ResourceList{}
	for _, word := range strings.Fields(text) {
		name, amount, _ := strings.Cut(word, "=")
		list[corev1.ResourceName(name)] = resource.MustParse(amount)
	}
	return corev1.Container{Resources: corev1.ResourceRequirements{Requests: list}}
}

// podAsking has one container for each text.
func podAsking(containers ...string) *corev1.Pod {
	pod := &corev1.Pod{}
	for _, text := range containers {
		pod.Spec.Containers = append(pod.Spec.Containers, asking(text))
	}
	return pod
}

// on has the pod demand products by terms of its affinity; a term is a list of words
// KEY=VALUE,VALUE (In), KEY!VALUE (NotIn) or KEY (Exists).
func on(pod *corev1.Pod, terms ...string) *corev1.Pod {
	required := &corev1.NodeSelector{}
	for _, term := range terms {
		var expressions []corev1.NodeSelectorRequirement
		for _, word := range strings.Fields(term) {
			expression := corev1.NodeSelectorRequirement{Key: word, Operator: corev1.NodeSelectorOpExists}
			for _, operator := range []struct {
				sign string
				name corev1.NodeSelectorOperator
			}{{"=", corev1.NodeSelectorOpIn}, {"!", corev1.NodeSelectorOpNotIn}} {
				if key, values, found := strings.Cut(word, operator.sign); found {
					expression = corev1.NodeSelectorRequirement{Key: key, Operator: operator.name, Values: strings.Split(values, ",")}
				}
			}
			expressions = append(expressions, expression)
		}
		required.NodeSelectorTerms = append(required.NodeSelectorTerms, corev1.NodeSelectorTerm{MatchExpressions: expressions})
	}
	pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: required}}
	return pod
}

// changed is the pod after the change.
func changed(pod *corev1.Pod, change func(*corev1.Pod)) *corev1.Pod {
	change(pod)
	return pod
}

func TestOf(t *testing.T) {
	t.Parallel()
	one := func(kind string, count int32, cpu, memory int64) packing.Request {
		return packing.Request{Kind: kind, Count: count, Milli: 1000, CPUMilli: cpu, MemoryMiB: memory}
	}
	always := corev1.ContainerRestartPolicyAlways
	for name, test := range map[string]struct {
		pod  *corev1.Pod
		want []packing.Request
	}{
		"no accelerators":    {podAsking("cpu=4 memory=1Gi example.com/nic=1"), nil},
		"no containers":      {&corev1.Pod{}, nil},
		"zero accelerators":  {podAsking("nvidia.com/gpu=0 cpu=1"), nil},
		"whole devices":      {podAsking("nvidia.com/gpu=2 cpu=12 memory=64Gi"), []packing.Request{one("nvidia.com/gpu", 2, 12000, 65536)}},
		"only the device":    {podAsking("nvidia.com/gpu=1"), []packing.Request{one("nvidia.com/gpu", 1, 0, 0)}},
		"a share of a pool":  {podAsking("nvidia.com/gpu.shared=1"), []packing.Request{one("nvidia.com/gpu.shared", 1, 0, 0)}},
		"a MIG instance":     {podAsking("nvidia.com/mig-1g.10gb=3"), []packing.Request{one("nvidia.com/mig-1g.10gb", 3, 0, 0)}},
		"containers add up":  {podAsking("nvidia.com/gpu=1 cpu=1", "nvidia.com/gpu=1", "cpu=500m memory=1Gi"), []packing.Request{one("nvidia.com/gpu", 2, 1500, 1024)}},
		"several at once":    {podAsking("nvidia.com/mig-1g.10gb=1 aws.amazon.com/neuron=2 cpu=1"), []packing.Request{one("aws.amazon.com/neuron", 2, 1000, 0), one("nvidia.com/mig-1g.10gb", 1, 1000, 0)}},
		"amounts round up":   {podAsking("nvidia.com/gpu=1 cpu=1.0001 memory=1048577"), []packing.Request{one("nvidia.com/gpu", 1, 1001, 2)}},
		"amounts end":        {podAsking("nvidia.com/gpu=99999999999 cpu=9e18 memory=1e30"), []packing.Request{one("nvidia.com/gpu", 1_000_000_000, math.MaxInt32*1000, math.MaxInt32)}},
		"overhead is asked":  {changed(podAsking("nvidia.com/gpu=1 cpu=1"), func(p *corev1.Pod) { p.Spec.Overhead = asking("cpu=1").Resources.Requests }), []packing.Request{one("nvidia.com/gpu", 1, 2000, 0)}},
		"of the pod's level": {changed(podAsking("nvidia.com/gpu=1 cpu=1"), func(p *corev1.Pod) { r := asking("cpu=4").Resources; p.Spec.Resources = &r }), []packing.Request{one("nvidia.com/gpu", 1, 4000, 0)}},
		"init containers": {changed(podAsking("nvidia.com/gpu=1 cpu=1"), func(p *corev1.Pod) {
			p.Spec.InitContainers = []corev1.Container{asking("nvidia.com/gpu=2 cpu=8"), asking("cpu=1")}
			p.Spec.InitContainers[1].RestartPolicy = &always
		}), []packing.Request{one("nvidia.com/gpu", 2, 8000, 0)}},
		"finished pods too":        {changed(podAsking("nvidia.com/gpu=1"), func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }), []packing.Request{one("nvidia.com/gpu", 1, 0, 0)}},
		"products that cannot be":  {changed(on(podAsking("nvidia.com/gpu=1"), LabelProduct+"=A"), func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{LabelProduct: "B"} }), nil},
		"terms that match no node": {on(podAsking("nvidia.com/gpu=1"), "", ""), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, Of(test.pod)); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}

func TestProductsOfRequests(t *testing.T) {
	t.Parallel()
	const label = LabelProduct
	selecting := func(pod *corev1.Pod, product string) *corev1.Pod {
		pod.Spec.NodeSelector = map[string]string{label: product, "zone": "z1"}
		return pod
	}
	many := make([]string, MaxProducts+1)
	for i := range many {
		many[i] = fmt.Sprint("p", i)
	}
	gpu := func() *corev1.Pod { return podAsking("nvidia.com/gpu=1") }
	for name, test := range map[string]struct {
		pod  *corev1.Pod
		want string
	}{
		"any":                           {gpu(), ""},
		"selected":                      {selecting(gpu(), "NVIDIA-L4"), "NVIDIA-L4"},
		"another label":                 {on(gpu(), "zone=a,b"), ""},
		"of a term, sorted":             {on(gpu(), "zone=a "+label+"=NVIDIA-L4,NVIDIA-A10,NVIDIA-L4"), "NVIDIA-A10|NVIDIA-L4"},
		"both of two expressions":       {on(gpu(), label+"=A,B,C "+label+"=D,C,B"), "B|C"},
		"one of two terms":              {on(gpu(), label+"=B", label+"=A"), "A|B"},
		"a term that says nothing":      {on(gpu(), label+"=B", "zone=a"), ""},
		"a term that matches no node":   {on(gpu(), label+"=B", ""), "B"},
		"a term that cannot be matched": {on(gpu(), label+"=A "+label+"=B", label+"=C"), "C"},
		"excluded ones":                 {on(gpu(), label+"!A"), ""},
		"excluded beside wanted":        {on(gpu(), label+"=A,B "+label+"!C"), "A|B"},
		"whichever there is":            {on(gpu(), label), ""},
		"selected among wanted":         {selecting(on(gpu(), label+"=A,B"), "B"), "B"},
		"selected beside other terms":   {selecting(on(gpu(), "zone=a"), "B"), "B"},
		"what no label holds":           {on(gpu(), label+"=A|B,C"), "C"},
		"very many":                     {on(gpu(), label+"="+strings.Join(many, ",")), ""},
		"by fields": {changed(on(gpu()), func(p *corev1.Pod) {
			p.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms = []corev1.NodeSelectorTerm{
				{MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{"node-1"}}}},
			}
		}), ""},
		"only preferred": {changed(gpu(), func(p *corev1.Pod) {
			wish := on(gpu(), label+"=A").Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0]
			p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
				PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{Weight: 1, Preference: wish}},
			}}
		}), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := []packing.Request{{Kind: "nvidia.com/gpu", Count: 1, Milli: 1000, Products: test.want}}
			if diff := cmp.Diff(want, Of(test.pod)); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}
