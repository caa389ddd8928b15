package accelerator

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// container requests units of resources, as in "nvidia.com/gpu", 2.
func container(requests ...any) corev1.Container {
	list := corev1.ResourceList{}
	for i := 0; i < len(requests); i += 2 {
		list[corev1.ResourceName(requests[i].(string))] = *resource.NewQuantity(int64(requests[i+1].(int)), resource.DecimalSI)
	}
	return corev1.Container{Resources: corev1.ResourceRequirements{Requests: list}}
}

func sidecar(c corev1.Container) corev1.Container {
	always := corev1.ContainerRestartPolicyAlways
	c.RestartPolicy = &always
	return c
}

func TestRequestOf(t *testing.T) {
	const gpu, mig = "nvidia.com/gpu", "nvidia.com/mig-1g.10gb.me"
	tests := map[string]struct {
		init, containers []corev1.Container
		want             []Request
	}{
		"no accelerators": {containers: []corev1.Container{container("cpu", 4, "example.com/fpga", 1)}},
		"no containers":   {},
		"containers add up": {
			containers: []corev1.Container{container(gpu, 1), container("cpu", 1), container(gpu, 2)},
			want:       []Request{{Resource: gpu, Kind: KindDevice, Count: 3}},
		},
		"zero is none": {containers: []corev1.Container{container(gpu, 0)}},
		"zero of one is not the other": {
			containers: []corev1.Container{container(gpu, 0, mig, 1)},
			want:       []Request{{Resource: mig, Kind: KindMIG, Profile: "1g.10gb+me", Count: 1}},
		},
		"in order of name": {
			containers: []corev1.Container{container("nvidia.com/mig-2g.20gb", 1, mig, 2, "aws.amazon.com/neuron", 1, "nvidia.com/gpu.shared", 1)},
			want: []Request{
				{Resource: "aws.amazon.com/neuron", Kind: KindNeuron, Count: 1},
				{Resource: "nvidia.com/gpu.shared", Kind: KindShared, Count: 1},
				{Resource: mig, Kind: KindMIG, Profile: "1g.10gb+me", Count: 2},
				{Resource: "nvidia.com/mig-2g.20gb", Kind: KindMIG, Profile: "2g.20gb", Count: 1},
			},
		},
		"init containers run one after another": {
			init:       []corev1.Container{container(gpu, 2), container(gpu, 4)},
			containers: []corev1.Container{container(gpu, 1)},
			want:       []Request{{Resource: gpu, Kind: KindDevice, Count: 4}},
		},
		"only an init container": {
			init: []corev1.Container{container(gpu, 1)}, containers: []corev1.Container{container("cpu", 1)},
			want: []Request{{Resource: gpu, Kind: KindDevice, Count: 1}},
		},
		"a sidecar stays": {
			init:       []corev1.Container{sidecar(container(gpu, 1)), container(gpu, 2)},
			containers: []corev1.Container{container(gpu, 1)},
			want:       []Request{{Resource: gpu, Kind: KindDevice, Count: 3}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{Spec: corev1.PodSpec{InitContainers: test.init, Containers: test.containers}}
			if diff := cmp.Diff(test.want, RequestOf(pod)); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRequestOfIsFreeForPodsWithoutAccelerators(t *testing.T) {
	pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{container("cpu", 4), container("memory", 1)}}}
	if allocations := testing.AllocsPerRun(100, func() { RequestOf(pod) }); allocations > 0 {
		t.Errorf("%v allocations, want none", allocations)
	}
}
