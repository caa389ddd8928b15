package mix

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"wastenot.dev/placement/podrequest"
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

// What is kept of a pod must be asked for as all of it.
func TestTrimmedPodsAskForTheSame(t *testing.T) {
	t.Parallel()
	always := corev1.ContainerRestartPolicyAlways
	for name, pod := range map[string]*corev1.Pod{
		"containers":      podAsking("nvidia.com/gpu=1 cpu=1", "nvidia.com/gpu=1", "cpu=500m memory=1Gi"),
		"overhead":        changed(podAsking("nvidia.com/gpu=1 cpu=1"), func(p *corev1.Pod) { p.Spec.Overhead = asking("cpu=1").Resources.Requests }),
		"the pod's level": changed(podAsking("nvidia.com/gpu=1 cpu=1"), func(p *corev1.Pod) { r := asking("cpu=4").Resources; p.Spec.Resources = &r }),
		"an affinity":     on(podAsking("nvidia.com/gpu=1"), podrequest.LabelProduct+"=A,B zone=a"),
		"a selector":      changed(podAsking("nvidia.com/gpu=1"), func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{podrequest.LabelProduct: "A"} }),
		"init containers": changed(podAsking("nvidia.com/gpu=1"), func(p *corev1.Pod) { p.Spec.InitContainers = []corev1.Container{asking("nvidia.com/gpu=2 cpu=8")} }),
		"a sidecar, which adds": changed(podAsking("nvidia.com/gpu=1 cpu=4"), func(p *corev1.Pod) {
			p.Spec.InitContainers = []corev1.Container{asking("nvidia.com/gpu=1 cpu=1")}
			p.Spec.InitContainers[0].RestartPolicy = &always
		}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(podrequest.Of(pod), podrequest.Of(trimmed(t, pod.DeepCopy()))); diff != "" {
				t.Errorf("requests of the pod and of what is left of it:\n%s", diff)
			}
		})
	}
}

func trimmed(t *testing.T, pod *corev1.Pod) *corev1.Pod {
	t.Helper()
	out, err := trim(pod)
	if err != nil {
		t.Fatal(err)
	}
	return out.(*corev1.Pod)
}
