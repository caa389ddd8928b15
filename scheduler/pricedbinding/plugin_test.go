package pricedbinding

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	corelisters "k8s.io/client-go/listers/core/v1"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	fwk "k8s.io/kube-scheduler/framework"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/internal/accelerator"
	"wastenot.dev/pricing"
)

// handle is as much of a scheduler as binding needs.
type handle struct {
	fwk.Handle
	client kubernetes.Interface
	cacher fwk.APICacher
}

func (h handle) ClientSet() kubernetes.Interface { return h.client }
func (h handle) APICacher() fwk.APICacher        { return h.cacher }

// cacher binds as the scheduler's queue of API calls does.
type cacher struct {
	fwk.APICacher
	binding *corev1.Binding
	fault   error
}

func (c *cacher) BindPod(binding *corev1.Binding) (<-chan error, error) {
	c.binding = binding
	finished := make(chan error, 1)
	finished <- c.fault
	return finished, nil
}

func (c *cacher) WaitOnFinish(_ context.Context, finished <-chan error) error { return <-finished }

// objects hold one claim, which was allocated.
type objects struct{ claim *resourceapi.ResourceClaim }

func (o objects) Claim(_, name string) (*resourceapi.ResourceClaim, error) {
	if o.claim == nil || o.claim.Name != name {
		return nil, errors.New("not found")
	}
	return o.claim, nil
}

func (objects) Template(string, string) (*resourceapi.ResourceClaimTemplate, error) {
	return nil, errors.New("not found")
}

func (objects) Class(name string) (*resourceapi.DeviceClass, error) {
	return &resourceapi.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: name}}, nil
}

// claimFor was allocated the devices, "gpu-0" and the like, of pool n; none for a claim
// that waits.
func claimFor(class string, devices ...string) *resourceapi.ResourceClaim {
	claim := &resourceapi.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "c"},
		Spec: resourceapi.ResourceClaimSpec{Devices: resourceapi.DeviceClaim{Requests: []resourceapi.DeviceRequest{{
			Name: "r", Exactly: &resourceapi.ExactDeviceRequest{DeviceClassName: class, Count: int64(max(len(devices), 1))},
		}}}},
	}
	if len(devices) > 0 {
		claim.Status.Allocation = &resourceapi.AllocationResult{}
	}
	for _, device := range devices {
		claim.Status.Allocation.Devices.Results = append(claim.Status.Allocation.Devices.Results,
			resourceapi.DeviceRequestAllocationResult{Request: "r", Driver: "gpu.nvidia.com", Pool: "n", Device: device})
	}
	return claim
}

// slices has a whole GPU and a MIG instance, and namesakes of other pools and drivers.
func slices() ([]*resourceapi.ResourceSlice, error) {
	namesakes := []resourceapi.Device{{Name: "gpu-0", Attributes: map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{"profile": {StringValue: ptr.To("1g.10gb")}}}}
	return []*resourceapi.ResourceSlice{
		{Spec: resourceapi.ResourceSliceSpec{Driver: "gpu.nvidia.com", Pool: resourceapi.ResourcePool{Name: "m"}, Devices: namesakes}},
		{Spec: resourceapi.ResourceSliceSpec{Driver: "other.example.com", Pool: resourceapi.ResourcePool{Name: "n"}, Devices: namesakes}},
		{Spec: resourceapi.ResourceSliceSpec{Driver: "gpu.nvidia.com", Pool: resourceapi.ResourcePool{Name: "n"}, Devices: []resourceapi.Device{
			{Name: "gpu-0"},
			{Name: "gpu-1-mig-3g", Attributes: map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{"profile": {StringValue: ptr.To("3g.40gb")}}},
		}}},
	}, nil
}

// newPlugin binds to node n, eight H100 for 80 an hour.
func newPlugin(t *testing.T, claim *resourceapi.ResourceClaim) (*Plugin, *fake.Clientset) {
	t.Helper()
	book, err := pricing.Parse([]byte("rules: [{instanceType: big, perInstanceHour: 80, devices: 8}]"))
	if err != nil {
		t.Fatal(err)
	}
	nodes := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	if err := nodes.Add(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{
		corev1.LabelInstanceTypeStable: "big", "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3",
	}}}); err != nil {
		t.Fatal(err)
	}
	client := fake.NewClientset(podAsking("", ""))
	return &Plugin{
		shared: &shared{book: func() *pricing.Book { return book }, clock: clocktesting.NewFakePassiveClock(time.Unix(0, 0))},
		handle: handle{client: client}, nodes: corelisters.NewNodeLister(nodes),
		devices: &devices{objects: objects{claim}, slices: slices, classes: func() (accelerator.Classes, bool) { return listed{}, true }},
	}, client
}

func podAsking(name corev1.ResourceName, count string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "u"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{}}}}
	if name != "" {
		pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{name: resource.MustParse(count)}
	}
	return pod
}

func podClaiming(claim string) *corev1.Pod {
	pod := podAsking("", "")
	pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "c", ResourceClaimName: &claim}}
	return pod
}

func TestBindWritesThePriceOfTheNode(t *testing.T) {
	const half = "3g.40gb is half of an H100's memory"
	tests := map[string]struct {
		pod        *corev1.Pod
		claim      *resourceapi.ResourceClaim
		node       string
		wantHourly string
		wantBasis  string
	}{
		"whole GPUs":                {pod: podAsking("nvidia.com/gpu", "2"), wantHourly: "20.00", wantBasis: "whole"},
		"a MIG instance, " + half:   {pod: podAsking("nvidia.com/mig-3g.40gb", "1"), wantHourly: "5.00", wantBasis: "mig"},
		"a claim":                   {pod: podClaiming("c"), claim: claimFor("gpu.nvidia.com", "gpu-0"), wantHourly: "10.00", wantBasis: "dra"},
		"a claim for two, " + half:  {pod: podClaiming("c"), claim: claimFor("gpu.nvidia.com", "gpu-0", "gpu-1-mig-3g"), wantHourly: "15.00", wantBasis: "dra"},
		"a claim that is not found": {pod: podClaiming("x"), claim: claimFor("gpu.nvidia.com", "gpu-0"), wantHourly: "unknown", wantBasis: "unknown"},
		"a device that is not found": {
			pod: podClaiming("c"), claim: claimFor("gpu.nvidia.com", "gpu-0", "gpu-7"), wantHourly: "unknown", wantBasis: "unknown",
		},
		"a claim that is not allocated": {pod: podClaiming("c"), claim: claimFor("gpu.nvidia.com"), wantHourly: "unknown", wantBasis: "unknown"},
		"a node that is not found":      {pod: podAsking("nvidia.com/gpu", "2"), node: "gone", wantHourly: "unknown", wantBasis: "unknown"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p, client := newPlugin(t, test.claim)
			node := "n"
			if test.node != "" {
				node = test.node
			}
			if status := p.Bind(t.Context(), nil, test.pod, node); !status.IsSuccess() {
				t.Fatalf("%v, want it bound", status)
			}
			binding := bindingOf(t, client)
			want := map[string]string{
				v1alpha1.AnnotationBoundHourly: test.wantHourly, v1alpha1.AnnotationBasis: test.wantBasis, v1alpha1.AnnotationCurrency: "USD",
				v1alpha1.AnnotationPriceBook: p.book().Hash(),
			}
			for key := range want {
				if diff := cmp.Diff(want[key], binding.Annotations[key]); diff != "" {
					t.Errorf("%s (-want +got):\n%s", key, diff)
				}
			}
			if binding.Target.Name != node || binding.UID != "u" || binding.Name != "p" || binding.Namespace != "ns" {
				t.Errorf("binding %+v", binding)
			}
		})
	}
}

func TestEstimatesInAnotherCurrencyEnd(t *testing.T) {
	for was, want := range map[string]string{"": "", "USD": "", "EUR": "unknown"} {
		p, client := newPlugin(t, nil)
		pod := podAsking("nvidia.com/gpu", "1")
		pod.Annotations = map[string]string{v1alpha1.AnnotationCurrency: was, v1alpha1.AnnotationHourlyMax: "9.00"}
		if status := p.Bind(t.Context(), nil, pod, "n"); !status.IsSuccess() {
			t.Fatal(status)
		}
		if got := bindingOf(t, client).Annotations[v1alpha1.AnnotationHourlyMax]; got != want {
			t.Errorf("estimated in %q: the greatest price becomes %q, want %q", was, got, want)
		}
	}
}

func bindingOf(t *testing.T, client *fake.Clientset) *corev1.Binding {
	t.Helper()
	for _, action := range client.Actions() {
		if create, ok := action.(clienttesting.CreateAction); ok && action.GetSubresource() == "binding" {
			binding, ok := create.GetObject().(*corev1.Binding)
			if !ok {
				t.Fatalf("a binding of type %T", create.GetObject())
			}
			return binding
		}
	}
	t.Fatal("nothing was bound")
	return nil
}

func TestOtherPodsAreLeftToTheNextBinder(t *testing.T) {
	for name, pod := range map[string]*corev1.Pod{"no accelerator": podAsking("cpu", "1"), "a claim for a network card": podClaiming("c")} {
		t.Run(name, func(t *testing.T) {
			p, client := newPlugin(t, claimFor("nic.example.com", "nic-0"))
			if status := p.Bind(t.Context(), nil, pod, "n"); status.Code() != fwk.Skip {
				t.Errorf("%v, want Skip", status)
			}
			if len(client.Actions()) > 0 {
				t.Errorf("it did %v", client.Actions())
			}
		})
	}
}

func TestBindUsesTheSchedulersQueueOfCalls(t *testing.T) {
	p, client := newPlugin(t, nil)
	queue := &cacher{}
	p.handle = handle{client: client, cacher: queue}
	if status := p.Bind(t.Context(), nil, podAsking("nvidia.com/gpu", "1"), "n"); !status.IsSuccess() {
		t.Fatal(status)
	}
	if queue.binding == nil || queue.binding.Annotations[v1alpha1.AnnotationBoundHourly] != "10.00" || len(client.Actions()) > 0 {
		t.Errorf("binding %v, other calls %v", queue.binding, client.Actions())
	}
	queue.fault = errors.New("conflict")
	if status := p.Bind(t.Context(), nil, podAsking("nvidia.com/gpu", "1"), "n"); status.Code() != fwk.Error || !strings.Contains(status.Message(), "conflict") {
		t.Errorf("%v, want the error of the call", status)
	}
}

func TestArgs(t *testing.T) {
	tests := map[string]struct {
		raw       string
		want      string
		wantError string
	}{
		"none":       {want: "wastenot-system"},
		"namespace":  {raw: `{"namespace": "elsewhere"}`, want: "elsewhere"},
		"misspelled": {raw: `{"nameSpaces": "x"}`, wantError: "nameSpaces"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var object runtime.Object
			if test.raw != "" {
				object = &runtime.Unknown{Raw: []byte(test.raw)}
			}
			args, err := decodeArgs(object)
			if (err != nil) != (test.wantError != "") || (err != nil && !strings.Contains(err.Error(), test.wantError)) {
				t.Fatalf("error %v, want one with %q", err, test.wantError)
			}
			if err == nil && args.Namespace != test.want {
				t.Errorf("namespace %q, want %q", args.Namespace, test.want)
			}
		})
	}
}

var _ accelerator.Objects = objects{}
