package candidate

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"wastenot.dev/internal/accelerator"
)

// listed are the classes that a configuration names.
type listed map[string]bool

func (l listed) Known(class string) bool { return l[class] }

// alternative is one of a list: devices of a class, all of them for a count of 0.
func alternative(name, class string, count int64, expressions ...string) resourceapi.DeviceSubRequest {
	sub := resourceapi.DeviceSubRequest{Name: name, DeviceClassName: class, AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: count}
	if count == 0 {
		sub.AllocationMode = resourceapi.DeviceAllocationModeAll
	}
	for _, expression := range expressions {
		sub.Selectors = append(sub.Selectors, resourceapi.DeviceSelector{CEL: &resourceapi.CELDeviceSelector{Expression: expression}})
	}
	return sub
}

func request(alternatives ...resourceapi.DeviceSubRequest) resourceapi.DeviceRequest {
	return resourceapi.DeviceRequest{FirstAvailable: alternatives}
}

func requesting(requests ...resourceapi.DeviceRequest) *resourceapi.ResourceClaim {
	for i := range requests {
		requests[i].Name = fmt.Sprint("r", i)
	}
	return &resourceapi.ResourceClaim{Spec: resourceapi.ResourceClaimSpec{Devices: resourceapi.DeviceClaim{Requests: requests}}}
}

// claiming is a pod with the claims, which it adds to the cluster, and units of
// nvidia.com/gpu.
func claiming(c *cluster, gpus int64, claims ...*resourceapi.ResourceClaim) *corev1.Pod {
	pod := &corev1.Pod{}
	c.claims = map[string]*resourceapi.ResourceClaim{}
	for i, claim := range claims {
		name := fmt.Sprint("claim-", i)
		c.claims[name] = claim
		pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims, corev1.PodResourceClaim{Name: name, ResourceClaimTemplateName: &name})
	}
	if gpus > 0 {
		pod.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{gpu: *resource.NewQuantity(gpus, resource.DecimalSI)}}}}
	}
	return pod
}

func TestOptionsOfAlternatives(t *testing.T) {
	h100 := func(name string) resourceapi.Device { return dev(name, "type", "gpu", "productName", "H100") }
	h200 := func(name string) resourceapi.Device { return dev(name, "type", "gpu", "productName", "H200") }
	mig := func(name, profile string) resourceapi.Device {
		return dev(name, "type", "mig", "productName", "A100", "profile", profile)
	}
	product := func(name string) string { return `device.attributes["gpu.nvidia.com"].productName == "` + name + `"` }
	const fast = resourceapi.ResourceDeviceClassPrefix + "fast.example.com"
	base := cluster{
		nodes: []*corev1.Node{node("a", "p5", nil), node("b", "p5e", nil), node("c", "both", map[string]int64{gpu: 4}), node("d", "p4d", nil), node("e", "nics", nil)},
		slices: map[string][]*resourceapi.ResourceSlice{
			"a": {slice("a", h100("0"), h100("1"))},
			"b": {slice("b", h200("0"), h200("1"), h200("2"))},
			"c": {slice("c", h100("0"), h100("1"), h200("2"), h200("3"))},
			"d": {slice("d", mig("0", "1g.5gb"), mig("1", "1g.5gb"), mig("2", "2g.10gb"))},
			"e": {slice("e", dev("0", "type", "nic"))},
		},
		classes: []*resourceapi.DeviceClass{
			class("gpu.nvidia.com", isGPU, nil), class("mig.nvidia.com", isMIG, nil), class("whole", isGPU, ptr.To(gpu)),
			class("fast.example.com", product("H200"), nil), class("nic.example.com", `device.attributes["gpu.nvidia.com"].type == "nic"`, nil),
		},
	}
	tests := map[string]struct {
		gpus   int64
		claims []*resourceapi.ResourceClaim
		want   []string
		cut    bool
	}{
		"of two classes, each by itself": {
			claims: []*resourceapi.ResourceClaim{requesting(request(alternative("x", "fast.example.com", 1), alternative("y", "gpu.nvidia.com", 2, product("H100"))))},
			want:   []string{"a 2 gpu.nvidia.com", "b 1 fast.example.com", "c 1 fast.example.com", "c 2 gpu.nvidia.com"},
		},
		"of one class, in different counts": {
			claims: []*resourceapi.ResourceClaim{requesting(request(alternative("x", "gpu.nvidia.com", 1, product("H200")), alternative("y", "gpu.nvidia.com", 2, product("H100"))))},
			want:   []string{"a 2 gpu.nvidia.com", "b 1 gpu.nvidia.com", "c 1 gpu.nvidia.com", "c 2 gpu.nvidia.com"},
		},
		"that are too many": {
			claims: []*resourceapi.ResourceClaim{requesting(request(alternative("x", "gpu.nvidia.com", 3), alternative("y", "fast.example.com", 2)))},
			want:   []string{"b 2 fast.example.com", "b 3 gpu.nvidia.com", "c 2 fast.example.com", "c 3 gpu.nvidia.com"},
		},
		"that are no accelerators": {
			claims: []*resourceapi.ResourceClaim{requesting(request(alternative("x", "gpu.nvidia.com", 3, product("H200")), alternative("y", "nic.example.com", 1)))},
			want:   []string{"b 3 gpu.nvidia.com", "e"},
		},
		"two lists of them": {
			claims: []*resourceapi.ResourceClaim{requesting(
				request(alternative("x", "mig.nvidia.com", 1), alternative("y", "gpu.nvidia.com", 1, product("H100"))),
				request(alternative("x", "mig.nvidia.com", 2), alternative("y", "fast.example.com", 1)),
			)},
			want: []string{
				"c 1 fast.example.com 1 gpu.nvidia.com", "d 3 mig.nvidia.com=1g.5gb", "d 1 mig.nvidia.com=1g.5gb 2 mig.nvidia.com=2g.10gb",
				"d 2 mig.nvidia.com=1g.5gb 1 mig.nvidia.com=2g.10gb", "d 3 mig.nvidia.com=2g.10gb",
			},
		},
		"the same list twice": {
			claims: []*resourceapi.ResourceClaim{
				requesting(request(alternative("x", "mig.nvidia.com", 1), alternative("y", "fast.example.com", 1))),
				requesting(request(alternative("x", "mig.nvidia.com", 1), alternative("y", "fast.example.com", 1))),
			},
			want: []string{"b 2 fast.example.com", "c 2 fast.example.com", "d 2 mig.nvidia.com=1g.5gb", "d 2 mig.nvidia.com=2g.10gb"},
		},
		"all devices are as many as there are": {
			claims: []*resourceapi.ResourceClaim{requesting(request(alternative("x", "fast.example.com", 0), alternative("y", "mig.nvidia.com", 0)))},
			want:   []string{"b 3 fast.example.com", "c 2 fast.example.com", "d 3 mig.nvidia.com=1g.5gb", "d 3 mig.nvidia.com=2g.10gb"},
		},
		"beside an extended resource": {
			gpus: 2, claims: []*resourceapi.ResourceClaim{requesting(request(alternative("x", "fast.example.com", 1), alternative("y", "whole", 2)))},
			want: []string{"b 1 fast.example.com 2 nvidia.com/gpu", "b 4 nvidia.com/gpu", "c 1 fast.example.com 2 nvidia.com/gpu", "c 4 nvidia.com/gpu", "a 4 nvidia.com/gpu"},
		},
		"one of a class that is not there": {
			claims: []*resourceapi.ResourceClaim{requesting(request(alternative("x", "neuron.aws.com", 1), alternative("y", "fast.example.com", 1)))},
			want:   []string{"b 1 fast.example.com", "c 1 fast.example.com"}, cut: true,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := base
			pod := claiming(&c, test.gpus, test.claims...)
			demand, err := accelerator.DemandOf(pod, &c, listed{fast: true})
			if err != nil {
				t.Fatal(err)
			}
			got, complete := NewFinder(&c).Options(t.Context(), pod, demand, nil)
			if diff := cmp.Diff(counts(test.want), counts(shown(got))); diff != "" {
				t.Errorf("options (-want +got):\n%s", diff)
			}
			if complete == test.cut {
				t.Errorf("complete %v", complete)
			}
		})
	}
}

// counts compares without order.
func counts(of []string) map[string]int {
	out := map[string]int{}
	for _, text := range of {
		out[text]++
	}
	return out
}

// TestNodesThatSelectorsTellApart: prices may be the same, and what fits is not.
func TestNodesThatSelectorsTellApart(t *testing.T) {
	tier := func(name, tier string) resourceapi.Device {
		return dev(name, "type", "gpu", "tier", tier, "uuid", name+tier)
	}
	for name, selector := range map[string]string{
		"by name": `device.attributes["gpu.nvidia.com"].tier == %q`, "by index": `device.attributes['gpu.nvidia.com']["tier"] == %q`,
		"bound": `cel.bind(d, device.attributes["gpu.nvidia.com"], d.tier == %q)`, "by any": `device.attributes["gpu.nvidia.com"].exists(k, k == "tier") && device.attributes["gpu.nvidia.com"].tier == %q`,
	} {
		t.Run(name, func(t *testing.T) {
			c := cluster{
				nodes: []*corev1.Node{node("a", "p5", nil), node("b", "p5", nil), node("c", "p5", nil)},
				slices: map[string][]*resourceapi.ResourceSlice{
					"a": {slice("a", tier("0", "bronze"))}, "b": {slice("b", tier("1", "silver"))}, "c": {slice("c", tier("2", "gold"))},
				},
				classes: []*resourceapi.DeviceClass{class("gpu.nvidia.com", isGPU, nil), class("whole", isGPU, ptr.To(gpu))},
			}
			pod := claiming(&c, 0, requesting(request(
				alternative("x", "gpu.nvidia.com", 1, fmt.Sprintf(selector, "gold")), alternative("y", "whole", 1, fmt.Sprintf(selector, "silver")),
			)))
			demand, err := accelerator.DemandOf(pod, &c, nil)
			if err != nil {
				t.Fatal(err)
			}
			got, _ := NewFinder(&c).Options(t.Context(), pod, demand, nil)
			if diff := cmp.Diff([]string{"b 1 nvidia.com/gpu", "c 1 gpu.nvidia.com"}, shown(got)); diff != "" {
				t.Errorf("options (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMentioned(t *testing.T) {
	tests := map[string]struct {
		want []string
		all  bool
	}{
		`device.driver == "a" && device.allowMultipleAllocations == true`:                        {},
		`device.attributes["a"].b == "c" && device.capacity['d'].e.isGreaterThan(quantity("1"))`: {want: []string{"b", "e"}},
		`has(device.attributes["a"].b) && device.attributes["a"]["c-d"] > 1`:                     {want: []string{"b", "c-d"}},
		`device.attributes["a"].?b.orValue("") == ""`:                                            {want: []string{"b"}},
		`device.attributes["a"].exists(k, k == "b")`:                                             {want: []string{"exists"}, all: true},
		`device.attributes["a"][x].b`:                                                            {all: true},
		`device.attributes[x].b`:                                                                 {all: true},
		`device.attributes["\u0061"].b`:                                                          {all: true},
		`[device].all(d, d.driver == "a")`:                                                       {all: true},
		`size(device.attributes["a"]) == 1`:                                                      {all: true},
		`"a" in device.capacity`:                                                                 {all: true},
	}
	for selector, test := range tests {
		got := mentionedIn([]need{{choices: []choice{{selectors: []string{selector}}}}})
		want := mentioned{names: map[string]bool{}, all: test.all}
		for _, name := range test.want {
			want.names[name] = true
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(mentioned{})); diff != "" {
			t.Errorf("%s: (-want +got):\n%s", selector, diff)
		}
	}
}
