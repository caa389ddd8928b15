package candidate

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"wastenot.dev/internal/accelerator"
)

const gpu = "nvidia.com/gpu"

// cluster is a snapshot made by hand. It finds claims too.
type cluster struct {
	nodes   []*corev1.Node
	slices  map[string][]*resourceapi.ResourceSlice
	classes []*resourceapi.DeviceClass
	claims  map[string]*resourceapi.ResourceClaim
}

func (c *cluster) Nodes() []*corev1.Node                             { return c.nodes }
func (c *cluster) SlicesOf(node string) []*resourceapi.ResourceSlice { return c.slices[node] }
func (c *cluster) Classes() []*resourceapi.DeviceClass               { return c.classes }
func (c *cluster) Claims(context.Context) accelerator.Objects        { return c }
func (c *cluster) Claim(_, name string) (*resourceapi.ResourceClaim, error) {
	if claim, ok := c.claims[name]; ok {
		return claim, nil
	}
	return nil, apierrors.NewNotFound(resourceapi.Resource("resourceclaims"), name)
}

func (c *cluster) Template(_, name string) (*resourceapi.ResourceClaimTemplate, error) {
	claim, err := c.Claim("", name)
	if err != nil {
		return nil, err
	}
	return &resourceapi.ResourceClaimTemplate{Spec: resourceapi.ResourceClaimTemplateSpec{Spec: claim.Spec}}, nil
}

func (c *cluster) Class(name string) (*resourceapi.DeviceClass, error) {
	for _, class := range c.classes {
		if class.Name == name {
			return class, nil
		}
	}
	return nil, apierrors.NewNotFound(resourceapi.Resource("deviceclasses"), name)
}

// node has a type and units of resources.
func node(name, instance string, resources map[string]int64, change ...func(*corev1.Node)) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
		corev1.LabelInstanceTypeStable: instance, corev1.LabelHostname: name, "nvidia.com/gfd.timestamp": name,
	}}}
	list := corev1.ResourceList{}
	for resourceName, count := range resources {
		list[corev1.ResourceName(resourceName)] = *resource.NewQuantity(count, resource.DecimalSI)
	}
	n.Status.Capacity, n.Status.Allocatable = list, list
	for _, c := range change {
		c(n)
	}
	return n
}

func labelled(key, value string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Labels[key] = value }
}

func tainted(key string, effect corev1.TaintEffect) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key, Effect: effect}) }
}

func eight() map[string]int64 { return map[string]int64{gpu: 8} }

// shown is what a test compares: node and wants of each option.
func shown(options []Option) []string {
	var out []string
	for _, option := range options {
		text := option.Node.Name
		for _, want := range option.Wants {
			text += fmt.Sprintf(" %d %s", want.Count, strings.TrimPrefix(want.Class, resourceapi.ResourceDeviceClassPrefix))
			if want.Profile != "" {
				text += "=" + want.Profile
			}
		}
		out = append(out, text)
	}
	return out
}

func TestOptionsOfExtendedResources(t *testing.T) {
	two := []accelerator.Demand{{Class: gpu, Kind: accelerator.KindDevice, Count: 2}}
	tests := map[string]struct {
		nodes  []*corev1.Node
		spec   corev1.PodSpec
		demand []accelerator.Demand
		labels []string
		want   []string
	}{
		"no nodes":          {},
		"no accelerators":   {nodes: []*corev1.Node{node("a", "m5", nil)}},
		"too few":           {nodes: []*corev1.Node{node("a", "g5", map[string]int64{gpu: 1})}},
		"one of a kind":     {nodes: []*corev1.Node{node("b", "p5", eight()), node("a", "p5", eight())}, want: []string{"a 2 nvidia.com/gpu"}},
		"two kinds":         {nodes: []*corev1.Node{node("b", "p5", eight()), node("a", "p4d", eight())}, want: []string{"a 2 nvidia.com/gpu", "b 2 nvidia.com/gpu"}},
		"other replicas":    {nodes: []*corev1.Node{node("a", "p5", eight()), node("b", "p5", eight(), labelled("nvidia.com/gpu.replicas", "4"))}, want: []string{"a 2 nvidia.com/gpu", "b 2 nvidia.com/gpu"}},
		"other count":       {nodes: []*corev1.Node{node("a", "", eight()), node("b", "", map[string]int64{gpu: 4})}, want: []string{"a 2 nvidia.com/gpu", "b 2 nvidia.com/gpu"}},
		"label of no price": {nodes: []*corev1.Node{node("a", "p5", eight(), labelled("pool", "x")), node("b", "p5", eight())}, want: []string{"a 2 nvidia.com/gpu"}},
		"label of a price": {
			nodes: []*corev1.Node{node("a", "p5", eight(), labelled("pool", "x")), node("b", "p5", eight())}, labels: []string{"pool"},
			want: []string{"a 2 nvidia.com/gpu", "b 2 nvidia.com/gpu"},
		},
		"node selector": {
			nodes: []*corev1.Node{node("a", "p4d", eight()), node("b", "p5", eight())}, spec: corev1.PodSpec{NodeSelector: map[string]string{corev1.LabelInstanceTypeStable: "p5"}},
			want: []string{"b 2 nvidia.com/gpu"},
		},
		"affinity": {
			nodes: []*corev1.Node{node("a", "p4d", eight()), node("b", "p5", eight())},
			spec: corev1.PodSpec{Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelInstanceTypeStable, Operator: corev1.NodeSelectorOpIn, Values: []string{"p4d"}}}}},
			}}}},
			want: []string{"a 2 nvidia.com/gpu"},
		},
		"taint":                   {nodes: []*corev1.Node{node("a", "p5", eight(), tainted(gpu, corev1.TaintEffectNoSchedule))}},
		"taint that is tolerated": {nodes: []*corev1.Node{node("a", "p5", eight(), tainted(gpu, corev1.TaintEffectNoSchedule))}, spec: corev1.PodSpec{Tolerations: []corev1.Toleration{{Key: gpu, Operator: corev1.TolerationOpExists}}}, want: []string{"a 2 nvidia.com/gpu"}},
		"taint that passes":       {nodes: []*corev1.Node{node("a", "p5", eight(), tainted("node.kubernetes.io/not-ready", corev1.TaintEffectNoExecute))}, want: []string{"a 2 nvidia.com/gpu"}},
		"taint that only prefers": {nodes: []*corev1.Node{node("a", "p5", eight(), tainted("x", corev1.TaintEffectPreferNoSchedule))}, want: []string{"a 2 nvidia.com/gpu"}},
		"named node":              {nodes: []*corev1.Node{node("a", "p4d", eight()), node("b", "p5", eight(), tainted("x", corev1.TaintEffectNoSchedule))}, spec: corev1.PodSpec{NodeName: "b"}, want: []string{"b 2 nvidia.com/gpu"}},
		"named node is not there": {nodes: []*corev1.Node{node("a", "p4d", eight())}, spec: corev1.PodSpec{NodeName: "b"}},
		"a device is out of order": {
			nodes: []*corev1.Node{node("a", "g5", map[string]int64{gpu: 2}, func(n *corev1.Node) {
				n.Status.Allocatable = corev1.ResourceList{gpu: resource.MustParse("1")}
			})},
			want: []string{"a 2 nvidia.com/gpu"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := &cluster{nodes: test.nodes}
			got, complete := NewFinder(c).Options(t.Context(), &corev1.Pod{Spec: test.spec}, two, test.labels)
			if !complete {
				t.Error("the search says that something may be missing")
			}
			if diff := cmp.Diff(test.want, shown(got)); diff != "" {
				t.Errorf("options (-want +got):\n%s", diff)
			}
		})
	}
}

func dev(name string, attributes ...string) resourceapi.Device {
	d := resourceapi.Device{Name: name, Attributes: map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{}}
	for i := 0; i < len(attributes); i += 2 {
		d.Attributes[resourceapi.QualifiedName(attributes[i])] = resourceapi.DeviceAttribute{StringValue: &attributes[i+1]}
	}
	return d
}

func slice(node string, devices ...resourceapi.Device) *resourceapi.ResourceSlice {
	s := &resourceapi.ResourceSlice{Spec: resourceapi.ResourceSliceSpec{Driver: "gpu.nvidia.com", Pool: resourceapi.ResourcePool{Name: node, Generation: 1}, Devices: devices}}
	if node != "" {
		s.Spec.NodeName = &node
	}
	return s
}

func class(name, expression string, extended *string) *resourceapi.DeviceClass {
	return &resourceapi.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: resourceapi.DeviceClassSpec{
		Selectors: []resourceapi.DeviceSelector{{CEL: &resourceapi.CELDeviceSelector{Expression: expression}}}, ExtendedResourceName: extended,
	}}
}

func claim(class string, count int64, expressions ...string) *resourceapi.ResourceClaim {
	exactly := &resourceapi.ExactDeviceRequest{DeviceClassName: class, AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: count}
	for _, expression := range expressions {
		exactly.Selectors = append(exactly.Selectors, resourceapi.DeviceSelector{CEL: &resourceapi.CELDeviceSelector{Expression: expression}})
	}
	return &resourceapi.ResourceClaim{Spec: resourceapi.ResourceClaimSpec{Devices: resourceapi.DeviceClaim{Requests: []resourceapi.DeviceRequest{{Name: "r", Exactly: exactly}}}}}
}

const (
	isGPU = `device.driver == "gpu.nvidia.com" && device.attributes["gpu.nvidia.com"].type == "gpu"`
	isMIG = `device.driver == "gpu.nvidia.com" && device.attributes["gpu.nvidia.com"].type == "mig"`
)

func TestOptionsOfClaims(t *testing.T) {
	whole := func(name string) resourceapi.Device { return dev(name, "type", "gpu", "productName", "NVIDIA H100") }
	mig := func(name, profile string) resourceapi.Device { return dev(name, "type", "mig", "profile", profile) }
	base := cluster{
		nodes: []*corev1.Node{node("a", "p5", nil), node("b", "p4d", nil), node("c", "m5", nil), node("d", "p5", nil)},
		slices: map[string][]*resourceapi.ResourceSlice{
			"a": {slice("a", whole("0"), whole("1"))},
			"b": {slice("b", mig("0", "1g.5gb"), mig("1", "2g.10gb"), mig("2", "1g.5gb"))},
			"d": {slice("d", whole("0"), whole("1"))},
		},
		classes: []*resourceapi.DeviceClass{class("gpu.nvidia.com", isGPU, nil), class("mig.nvidia.com", isMIG, nil), class("whole", isGPU, ptr.To(gpu))},
	}
	older := slice("a", whole("0"), whole("1"), whole("2"), whole("3"))
	older.Spec.Pool.Generation = 0
	tests := map[string]struct {
		claims []*resourceapi.ResourceClaim
		// requests are of an extended resource.
		requests int64
		change   func(*cluster)
		want     []string
	}{
		"whole devices":           {claims: []*resourceapi.ResourceClaim{claim("gpu.nvidia.com", 2)}, want: []string{"a 2 gpu.nvidia.com"}},
		"too many":                {claims: []*resourceapi.ResourceClaim{claim("gpu.nvidia.com", 3)}},
		"every profile":           {claims: []*resourceapi.ResourceClaim{claim("mig.nvidia.com", 1)}, want: []string{"b 1 mig.nvidia.com=1g.5gb", "b 1 mig.nvidia.com=2g.10gb"}},
		"one profile":             {claims: []*resourceapi.ResourceClaim{claim("mig.nvidia.com", 1, `device.attributes["gpu.nvidia.com"].profile == "2g.10gb"`)}, want: []string{"b 1 mig.nvidia.com=2g.10gb"}},
		"a selector that fails":   {claims: []*resourceapi.ResourceClaim{claim("gpu.nvidia.com", 1, `device.attributes["gpu.nvidia.com"].nothing == "x"`)}},
		"a selector that is none": {claims: []*resourceapi.ResourceClaim{claim("gpu.nvidia.com", 1, `?`)}},
		"class for a resource":    {claims: []*resourceapi.ResourceClaim{claim("whole", 1)}, want: []string{"a 1 nvidia.com/gpu"}},
		"resource from a class":   {requests: 1, want: []string{"a 1 nvidia.com/gpu"}},
		"devices that are no more": {
			claims: []*resourceapi.ResourceClaim{claim("gpu.nvidia.com", 4)},
			change: func(c *cluster) { c.slices["a"] = append(slices.Clone(c.slices["a"]), older) },
		},
		"one device of all nodes": {
			claims: []*resourceapi.ResourceClaim{claim("gpu.nvidia.com", 3)},
			change: func(c *cluster) {
				shared := slice("", whole("x"))
				shared.Spec.NodeSelector = &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
					{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{"d"}},
				}}}}
				c.slices[""] = []*resourceapi.ResourceSlice{shared}
			},
			want: []string{"d 3 gpu.nvidia.com"},
		},
		"two claims": {
			claims: []*resourceapi.ResourceClaim{claim("mig.nvidia.com", 1), claim("gpu.nvidia.com", 1)},
			change: func(c *cluster) { c.slices["b"] = append(slices.Clone(c.slices["b"]), slice("b", whole("9"))) },
			want:   []string{"b 1 gpu.nvidia.com 1 mig.nvidia.com=1g.5gb", "b 1 gpu.nvidia.com 1 mig.nvidia.com=2g.10gb"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := base
			c.slices, c.claims = map[string][]*resourceapi.ResourceSlice{}, map[string]*resourceapi.ResourceClaim{}
			for node, of := range base.slices {
				c.slices[node] = of
			}
			if test.change != nil {
				test.change(&c)
			}
			pod := &corev1.Pod{}
			for i, claim := range test.claims {
				name := fmt.Sprint("claim-", i)
				c.claims[name] = claim
				pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims, corev1.PodResourceClaim{Name: name, ResourceClaimName: &name})
			}
			if test.requests > 0 {
				pod.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{gpu: *resource.NewQuantity(test.requests, resource.DecimalSI)}}}}
			}
			demand, err := accelerator.DemandOf(pod, &c, nil)
			if err != nil {
				t.Fatal(err)
			}
			got, complete := NewFinder(&c).Options(t.Context(), pod, demand, nil)
			if !complete {
				t.Error("the search says that something may be missing")
			}
			if diff := cmp.Diff(test.want, shown(got)); diff != "" {
				t.Errorf("options (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhere(t *testing.T) {
	option := func(instance string) Option { return Option{Node: node("n", instance, nil)} }
	tests := map[string]struct {
		options []Option
		want    string
	}{
		"nothing":   {},
		"no type":   {options: []Option{option("")}},
		"one type":  {options: []Option{option("p5"), option("p5")}, want: "p5"},
		"two types": {options: []Option{option("p5"), option("p4d")}, want: "depends on the node"},
	}
	for name, test := range tests {
		if got := Where(test.options); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// BenchmarkOptions is one question over a cluster of 2,000 nodes of four kinds.
func BenchmarkOptions(b *testing.B) {
	c := &cluster{}
	for i := range 2000 {
		c.nodes = append(c.nodes, node(fmt.Sprintf("n%05d", i), fmt.Sprint("type-", i%4), eight()))
	}
	finder := NewFinder(c)
	one := []accelerator.Demand{{Class: gpu, Kind: accelerator.KindDevice, Count: 1}}
	for b.Loop() {
		finder.Options(b.Context(), &corev1.Pod{}, one, nil)
	}
}
