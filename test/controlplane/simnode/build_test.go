package simnode

import (
	"fmt"
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

const (
	gpu   corev1.ResourceName = "nvidia.com/gpu"
	slice corev1.ResourceName = "nvidia.com/mig-1g.5gb"
)

// gpus returns n healthy devices named g0, g1, ...
func gpus(n int) []Device {
	devices := make([]Device, n)
	for i := range devices {
		devices[i] = Device{ID: fmt.Sprintf("g%d", i), Resource: string(gpu), Healthy: true}
	}
	return devices
}

// testNode returns a node with 4 GPUs, of which those named are unhealthy, and two slices.
func testNode(unhealthy ...int) Node {
	node := Node{Name: "n1", CPU: resource.MustParse("8"), Memory: resource.MustParse("64Gi"), Pods: 5, Devices: gpus(4)}
	for _, i := range unhealthy {
		node.Devices[i].Healthy = false
	}
	node.Devices = append(node.Devices,
		Device{ID: "m0", Resource: string(slice), Healthy: true},
		Device{ID: "m1", Resource: string(slice), Healthy: true})
	return node
}

func testInventory(node Node, seed uint64) *inventory {
	return newInventory(node, rand.New(rand.NewPCG(seed, 0)), nil)
}

// testPod returns a bound pod with one container per entry; entries are limits.
func testPod(name string, containers ...corev1.ResourceList) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("uid-" + name), Annotations: map[string]string{}},
		Spec:       corev1.PodSpec{NodeName: "n1"},
	}
	for i, limits := range containers {
		pod.Spec.Containers = append(pod.Spec.Containers, testContainer(fmt.Sprintf("c%d", i), limits))
	}
	return pod
}

func testContainer(name string, limits corev1.ResourceList) corev1.Container {
	return corev1.Container{Name: name, Resources: corev1.ResourceRequirements{Limits: limits, Requests: limits}}
}

func withInit(pod *corev1.Pod, name string, sidecar bool, limits corev1.ResourceList) *corev1.Pod {
	container := testContainer(name, limits)
	if sidecar {
		container.RestartPolicy = ptr.To(corev1.ContainerRestartPolicyAlways)
	}
	pod.Spec.InitContainers = append(pod.Spec.InitContainers, container)
	return pod
}

// want is a resource list from pairs of name and quantity.
func want(pairs ...any) corev1.ResourceList {
	list := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		list[pairs[i].(corev1.ResourceName)] = resource.MustParse(pairs[i+1].(string))
	}
	return list
}
