package pricedbinding

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	fwk "k8s.io/kube-scheduler/framework"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/internal/accelerator"
)

const configured = "configured.example.com"

// listed are the classes that a configuration names.
type listed map[string]bool

func (l listed) Known(class string) bool { return l[class] }

// with adds a resource to what a pod asks for.
func with(pod *corev1.Pod, name corev1.ResourceName, count string) *corev1.Pod {
	pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{name: resource.MustParse(count)},
	}})
	return pod
}

// TestConfiguredClassesHaveAPrice: what the configuration names costs what the webhook
// said; what nobody names is no accelerator, and costs nothing.
func TestConfiguredClassesHaveAPrice(t *testing.T) {
	const extended = corev1.ResourceName(resourceapi.ResourceDeviceClassPrefix + configured)
	tests := map[string]struct {
		pod    *corev1.Pod
		class  string
		unread bool
		// want is the price; "" for a pod that is left to the next binder.
		want string
	}{
		"a claim":                              {pod: podClaiming("c"), class: configured, want: "10.00"},
		"a claim beside a GPU":                 {pod: with(podClaiming("c"), "nvidia.com/gpu", "1"), class: configured, want: "20.00"},
		"an extended resource":                 {pod: podAsking(extended, "2"), want: "20.00"},
		"an extended resource beside a GPU":    {pod: with(podAsking(extended, "1"), "nvidia.com/gpu", "1"), want: "20.00"},
		"of a network card beside a GPU":       {pod: with(podClaiming("c"), "nvidia.com/gpu", "1"), class: "nic.example.com", want: "10.00"},
		"of a network card":                    {pod: podClaiming("c"), class: "nic.example.com"},
		"unread, beside a GPU":                 {pod: with(podClaiming("c"), "nvidia.com/gpu", "1"), class: configured, unread: true, want: "unknown"},
		"unread, extended, beside a GPU":       {pod: with(podAsking(extended, "1"), "nvidia.com/gpu", "1"), unread: true, want: "unknown"},
		"unread, GPUs alone":                   {pod: podAsking("nvidia.com/gpu", "1"), unread: true, want: "10.00"},
		"unread, a claim of a class we know":   {pod: podClaiming("c"), class: "gpu.nvidia.com", unread: true, want: "10.00"},
		"unread, a class that nobody may name": {pod: podClaiming("c"), class: "nic.example.com", unread: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p, client := newPlugin(t, claimFor(test.class, "gpu-0"))
			classes := listed{accelerator.ClassName(configured): !test.unread}
			p.devices.classes = func() (accelerator.Classes, bool) { return classes, !test.unread }
			status := p.Bind(t.Context(), nil, test.pod, "n")
			if test.want == "" {
				if status.Code() != fwk.Skip {
					t.Errorf("%v, want Skip", status)
				}
				return
			}
			if !status.IsSuccess() {
				t.Fatalf("%v, want it bound", status)
			}
			if got := bindingOf(t, client).Annotations[v1alpha1.AnnotationBoundHourly]; got != test.want {
				t.Errorf("price %q, want %q", got, test.want)
			}
		})
	}
}

// TestAProfileThatADeviceDoesNotTell: the resource that its class stands for has one.
func TestAProfileThatADeviceDoesNotTell(t *testing.T) {
	want := accelerator.Demand{Class: "nvidia.com/mig-3g.40gb", Kind: accelerator.KindMIG, Profile: "3g.40gb"}
	if got := want.Of(&resourceapi.Device{}); got.Profile != "3g.40gb" || got.Count != 1 {
		t.Errorf("%+v", got)
	}
}

// TestTheConfigurationIsWatched: classes come from where the webhook has them.
func TestTheConfigurationIsWatched(t *testing.T) {
	const class = resourceapi.ResourceDeviceClassPrefix + configured
	config := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "elsewhere", Name: v1alpha1.QuotaConfigMap},
		Data:       map[string]string{v1alpha1.QuotaKey: "classes: {" + class + ": {devices: 1}}"},
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	s := newShared(ctx, fake.NewClientset(config), "elsewhere")
	defer s.close()
	for {
		classes, read := s.classes()
		if read && classes.Known(class) && !classes.Known(class+"x") {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("read %v, known %v", read, classes.Known(class))
		}
		time.Sleep(time.Millisecond)
	}
}
