package candidate

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"wastenot.dev/internal/accelerator"
	"wastenot.dev/pricing"
)

const extraClass = resourceapi.ResourceDeviceClassPrefix + "extra.example.com"

// selectable is what classes and requests of the property select, as CEL and in Go.
var selectable = map[string]func(d *resourceapi.Device) bool{
	`device.driver == "gpu.nvidia.com"`: func(*resourceapi.Device) bool { return true },
	isGPU:                               func(d *resourceapi.Device) bool { return has(d, "type", "gpu") },
	isMIG:                               func(d *resourceapi.Device) bool { return has(d, "type", "mig") },
	`device.attributes["gpu.nvidia.com"].type == "nic"`:                func(d *resourceapi.Device) bool { return has(d, "type", "nic") },
	`device.attributes["gpu.nvidia.com"].tier == "gold"`:               func(d *resourceapi.Device) bool { return has(d, "tier", "gold") },
	`device.attributes["gpu.nvidia.com"].tier != "gold"`:               func(d *resourceapi.Device) bool { return !has(d, "tier", "gold") },
	`device.attributes["gpu.nvidia.com"].profile == "2g.10gb"`:         func(d *resourceapi.Device) bool { return has(d, "profile", "2g.10gb") },
	`!(device.attributes["gpu.nvidia.com"].exists(k, k == "profile"))`: func(d *resourceapi.Device) bool { return !has(d, "profile", "") },
}

// has tells whether the device has the attribute; "" is any value.
func has(d *resourceapi.Device, name resourceapi.QualifiedName, value string) bool {
	attribute, ok := d.Attributes[name]
	return ok && (value == "" || *attribute.StringValue == value)
}

func pick[T any](random *rand.Rand, from ...T) T { return from[random.IntN(len(from))] }

// anyCluster draws up to four nodes; their prices, what they offer and their devices
// differ.
func anyCluster(random *rand.Rand) *cluster {
	c := &cluster{slices: map[string][]*resourceapi.ResourceSlice{}, classes: []*resourceapi.DeviceClass{
		class("gpu.nvidia.com", isGPU, nil), class("mig.nvidia.com", isMIG, nil), class("whole", isGPU, ptr.To(gpu)),
		class("extra.example.com", `device.attributes["gpu.nvidia.com"].tier == "gold"`, nil),
		class("nic.example.com", `device.attributes["gpu.nvidia.com"].type == "nic"`, nil),
	}}
	types := []string{"dear", "cheap", "dear"}
	if random.IntN(4) == 0 {
		types = append(types, "unpriced")
	}
	for i := range 1 + random.IntN(4) {
		name := fmt.Sprint("n", i)
		n := node(name, pick(random, types...), map[string]int64{gpu: random.Int64N(4)}, labelled("nvidia.com/gpu.product", "NVIDIA-A100-SXM4-40GB"))
		c.nodes = append(c.nodes, n)
		var devices []resourceapi.Device
		for j := range random.IntN(6) {
			attributes := []string{"tier", pick(random, "gold", "silver"), "uuid", fmt.Sprint(i, "/", j), "type", pick(random, "gpu", "gpu", "mig", "mig", "nic")}
			if attributes[5] == "mig" {
				attributes = append(attributes, "profile", pick(random, "1g.5gb", "2g.10gb", "2g.10gb", "3g.20gb"))
			}
			devices = append(devices, dev(fmt.Sprint(j), attributes...))
		}
		if len(devices) > 0 {
			c.slices[name] = []*resourceapi.ResourceSlice{slice(name, devices...)}
		}
	}
	return c
}

// anyPod draws claims with alternatives, and sometimes an extended resource.
func anyPod(random *rand.Rand, c *cluster) *corev1.Pod {
	selectors := []string{
		`device.attributes["gpu.nvidia.com"].tier == "gold"`, `device.attributes["gpu.nvidia.com"].tier != "gold"`,
		`device.attributes["gpu.nvidia.com"].profile == "2g.10gb"`, `!(device.attributes["gpu.nvidia.com"].exists(k, k == "profile"))`,
	}
	var claims []*resourceapi.ResourceClaim
	for range random.IntN(3) {
		var requests []resourceapi.DeviceRequest
		for range 1 + random.IntN(2) {
			var alternatives []resourceapi.DeviceSubRequest
			for i := range 1 + random.IntN(3) {
				var chosen []string
				if random.IntN(2) == 0 {
					chosen = []string{pick(random, selectors...)}
				}
				count := pick[int64](random, 1, 1, 2, 0)
				name := pick(random, "gpu.nvidia.com", "gpu.nvidia.com", "mig.nvidia.com", "whole", "extra.example.com", "nic.example.com")
				alternatives = append(alternatives, alternative(fmt.Sprint("a", i), name, count, chosen...))
			}
			if sub := alternatives[0]; len(alternatives) == 1 {
				requests = append(requests, resourceapi.DeviceRequest{Exactly: &resourceapi.ExactDeviceRequest{
					DeviceClassName: sub.DeviceClassName, Selectors: sub.Selectors, AllocationMode: sub.AllocationMode, Count: sub.Count,
				}})
				continue
			}
			requests = append(requests, request(alternatives...))
		}
		claims = append(claims, requesting(requests...))
	}
	pod := claiming(c, pick[int64](random, 0, 1, 2), claims...)
	if random.IntN(4) == 0 {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceName(extraClass): resource.MustParse("1")},
		}})
	}
	return pod
}

// twin allocates devices on one node in every way that there is.
type twin struct {
	*cluster
	devices []resourceapi.Device
	used    []bool
	// steps are what is still to be given, given what was.
	given []accelerator.Demand
	// price is asked for each way.
	price func(given []accelerator.Demand)
}

// some gives count of the devices that are free and match, in every way, and goes on.
func (w *twin) some(count int64, from int, want accelerator.Demand, matches func(*resourceapi.Device) bool, next func()) {
	if count == 0 {
		next()
		return
	}
	for i := from; i < len(w.devices); i++ {
		if w.used[i] || !matches(&w.devices[i]) {
			continue
		}
		w.used[i] = true
		before := len(w.given)
		if want.Class != "" {
			w.given = append(w.given, want.Of(&w.devices[i]))
		}
		w.some(count-1, i+1, want, matches, next)
		w.given, w.used[i] = w.given[:before], false
	}
}

// matching is how many devices match, those in use too.
func (w *twin) matching(matches func(*resourceapi.Device) bool) (count int64) {
	for i := range w.devices {
		if matches(&w.devices[i]) {
			count++
		}
	}
	return count
}

func matcher(of ...[]resourceapi.DeviceSelector) func(*resourceapi.Device) bool {
	return func(d *resourceapi.Device) bool {
		for _, selectors := range of {
			for _, selector := range selectors {
				if !selectable[selector.CEL.Expression](d) {
					return false
				}
			}
		}
		return true
	}
}

// resources gives extended resources: the node's own, or devices of a class.
func (w *twin) resources(n *corev1.Node, of []accelerator.Demand, next func()) {
	if len(of) == 0 {
		next()
		return
	}
	rest := func() { w.resources(n, of[1:], next) }
	w.given = append(w.given, of[0])
	before := len(w.given)
	if quantity := n.Status.Capacity[corev1.ResourceName(of[0].Class)]; quantity.Value() >= of[0].Count {
		rest()
	} else {
		for _, class := range w.classes {
			if accelerator.ClassName(class.Name) == of[0].Class || ptr.Deref(class.Spec.ExtendedResourceName, "") == of[0].Class {
				w.some(of[0].Count, 0, accelerator.Demand{}, matcher(class.Spec.Selectors), rest)
			}
		}
	}
	w.given = w.given[:before-1]
}

// requests gives what claims ask for, each request in turn.
func (w *twin) requests(t *testing.T, of []asked, next func()) {
	if len(of) == 0 {
		next()
		return
	}
	rest := func() { w.requests(t, of[1:], next) }
	for _, sub := range of[0].alternatives() {
		want, _, err := accelerator.DemandOfResult(of[0].claim, sub.Name, w, listed{extraClass: true})
		if err != nil {
			t.Fatal(err)
		}
		class, err := w.Class(sub.DeviceClassName)
		if err != nil {
			t.Fatal(err)
		}
		matches, count := matcher(class.Spec.Selectors, sub.Selectors), sub.Count
		if count == 0 {
			if count = w.matching(matches); count == 0 {
				continue
			}
		}
		w.some(count, 0, want, matches, rest)
	}
}

// asked is a request of a claim.
type asked struct {
	claim   *resourceapi.ResourceClaim
	request *resourceapi.DeviceRequest
}

// alternatives have the names by which results refer to them.
func (a asked) alternatives() []resourceapi.DeviceSubRequest {
	if e := a.request.Exactly; e != nil {
		return []resourceapi.DeviceSubRequest{{Name: a.request.Name, DeviceClassName: e.DeviceClassName, Selectors: e.Selectors, Count: e.Count}}
	}
	subs := slices.Clone(a.request.FirstAvailable)
	for i := range subs {
		subs[i].Name = a.request.Name + "/" + subs[i].Name
	}
	return subs
}

// everyWay calls price for each allocation of the pod that is possible.
func everyWay(t *testing.T, c *cluster, pod *corev1.Pod, price func(*corev1.Node, []accelerator.Demand)) {
	t.Helper()
	extended := pod.DeepCopy()
	extended.Spec.ResourceClaims = nil
	resources, err := accelerator.DemandOf(extended, c, listed{extraClass: true})
	if err != nil {
		t.Fatal(err)
	}
	var requests []asked
	for _, ref := range pod.Spec.ResourceClaims {
		claim := c.claims[ref.Name]
		for i := range claim.Spec.Devices.Requests {
			requests = append(requests, asked{claim, &claim.Spec.Devices.Requests[i]})
		}
	}
	for _, n := range c.nodes {
		w := &twin{cluster: c, price: func(given []accelerator.Demand) { price(n, given) }}
		for _, s := range c.slices[n.Name] {
			w.devices = append(w.devices, s.Spec.Devices...)
		}
		w.used = make([]bool, len(w.devices))
		w.resources(n, resources, func() { w.requests(t, requests, func() { w.price(w.given) }) })
	}
}

// TestEveryAllocationIsPricedWithin: whatever the scheduler gives a pod costs as much as
// it was told to, if it was told; and what has no price was not said to have one.
func TestEveryAllocationIsPricedWithin(t *testing.T) {
	book, err := pricing.Parse([]byte("rules: [{instanceType: dear, perDeviceHour: 6.88}, {instanceType: cheap, perDeviceHour: 0.35}]"))
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	now := time.Unix(0, 0)
	finder := NewFinder(nil)
	known, ways := 0, 0
	for round := range 3000 {
		c := anyCluster(random)
		pod := anyPod(random, c)
		demand, err := accelerator.DemandOf(pod, c, listed{extraClass: true})
		if err != nil {
			t.Fatal(err)
		}
		if len(demand) == 0 {
			continue
		}
		// Its selectors stay compiled.
		finder.cluster, finder.limits = c, usualLimits
		if random.IntN(4) == 0 {
			finder.limits = limits{nodes: 1 + random.IntN(4), kinds: 1 + random.IntN(4), mixes: 1 + random.IntN(8), evaluations: random.IntN(60)}
		}
		found, complete := finder.Options(t.Context(), pod, demand, nil)
		estimate := book.Range(priced(found), complete, now)
		if estimate.Known {
			known++
		}
		everyWay(t, c, pod, func(n *corev1.Node, given []accelerator.Demand) {
			ways++
			price := book.Hourly(pricing.Option{Node: n, Wants: given}, now)
			switch {
			case estimate.Known && (!price.Known || price.Micros < estimate.MinMicros || price.Micros > estimate.MaxMicros):
				t.Fatalf("round %d: %v on %s (%s) costs %+v, estimated %+v of %v", round, given, n.Name, n.Labels[corev1.LabelInstanceTypeStable], price, estimate, shown(found))
			case price.Known && complete && !estimate.Known && !estimate.Partial:
				t.Fatalf("round %d: %v on %s has a price, estimated %+v of %v", round, given, n.Name, estimate, shown(found))
			}
		})
	}
	if known < 800 || ways < 2000 {
		t.Errorf("%d estimates were known, %d ways tried: the test does not look at much", known, ways)
	}
}

func priced(found []Option) []pricing.Option {
	options := make([]pricing.Option, len(found))
	for i := range found {
		options[i] = pricing.Option(found[i])
	}
	return options
}
