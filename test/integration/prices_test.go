//go:build integration

package integration

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/pricing"
	"wastenot.dev/test/fixture/exporter"
	"wastenot.dev/test/fixture/rig"
)

// pricedNodes are rented ones of several products and prices, and own ones that only the
// book prices, or nobody.
var pricedNodes = []rig.NodeSpec{
	{Name: "p5", Model: "NVIDIA H100 80GB HBM3", Template: exporter.A100, Kind: rig.Whole, GPUs: 8, Group: "train", InstanceType: "p5.48xlarge"},
	{Name: "p4d", Model: "NVIDIA A100-SXM4-40GB", Template: exporter.A100, Kind: rig.Whole, GPUs: 8, Group: "train", InstanceType: "p4d.24xlarge"},
	{Name: "g4dn", Model: "Tesla T4", Template: exporter.T4, Kind: rig.Whole, GPUs: 8, Group: "batch", InstanceType: "g4dn.metal"},
	{Name: "own", Model: "NVIDIA H200", Template: exporter.A100, Kind: rig.Whole, GPUs: 8, Group: "own"},
	{Name: "mig-p4d", Model: "NVIDIA A100-SXM4-40GB", Template: exporter.A100MIG, Kind: rig.MIG, GPUs: 8, Group: "notebooks", InstanceType: "p4d.24xlarge"},
	{Name: "mig-own", Model: "NVIDIA A100-SXM4-40GB", Template: exporter.A100MIG, Kind: rig.MIG, GPUs: 4, Group: "notebooks-own"},
	{Name: "slices-4", Model: "NVIDIA L4", Template: exporter.L4, Kind: rig.TimeSliced, GPUs: 8, Replicas: 4, Group: "serving", InstanceType: "g6.48xlarge"},
	{Name: "slices-8", Model: "NVIDIA L4", Template: exporter.L4, Kind: rig.TimeSliced, GPUs: 4, Replicas: 8, Group: "serving-8", InstanceType: "g6.12xlarge"},
	{Name: "dra-p5", Model: "NVIDIA H100 80GB HBM3", Template: exporter.A100, Kind: rig.DRA, GPUs: 8, Group: "dra", InstanceType: "p5.48xlarge"},
	{Name: "dra-own", Model: "NVIDIA H200", Template: exporter.A100, Kind: rig.DRA, GPUs: 8, Group: "dra-own"},
}

const book = `
rules:
  - {product: NVIDIA-H200, perDeviceHour: 4.20}
  - {nodeSelector: {eks.amazonaws.com/nodegroup: notebooks-own}, perDeviceHour: 1.75}
`

// The DeviceClasses of the test beside NVIDIA's. The quota configuration names all but
// the last, which is of network cards.
const (
	classH100 = "h100.example.com"
	classH200 = "h200.example.com"
	classNPU  = "npu.example.com"
	classNIC  = "nic.example.com"
)

const pricedClasses = `
classes:
  deviceclass.resource.kubernetes.io/h100.example.com: {devices: 1}
  deviceclass.resource.kubernetes.io/h200.example.com: {devices: 1}
  deviceclass.resource.kubernetes.io/npu.example.com: {devices: 1}
`

// publishClasses makes the classes, their devices and a template for each way to claim
// them.
func publishClasses(ctx context.Context, t *testing.T, r *rig.Rig) {
	t.Helper()
	const isProduct = "device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].productName == '%s'"
	errs := []error{
		r.DeviceClass(ctx, classH100, fmt.Sprintf(isProduct, "NVIDIA H100 80GB HBM3")),
		r.DeviceClass(ctx, classH200, fmt.Sprintf(isProduct, "NVIDIA H200")),
		r.ClaimTemplate(ctx, "priced", "one", rig.ClassGPU, 1),
		r.ClaimTemplate(ctx, "priced", "npu", classNPU, 2),
		r.ClaimTemplate(ctx, "priced", "nic", classNIC, 1),
		// No node has both, then all have the second, then two kinds of nodes one each.
		r.AlternativesTemplate(ctx, "priced", "products", rig.Alternative{Class: classH200, Count: 2}, rig.Alternative{Class: classH100, Count: 1}),
		r.AlternativesTemplate(ctx, "priced", "better", rig.Alternative{Class: classH200, Count: 1}, rig.Alternative{Class: rig.ClassGPU, Count: 1}),
		r.AlternativesTemplate(ctx, "priced", "drivers", rig.Alternative{Class: classNPU, Count: 1}, rig.Alternative{Class: rig.ClassGPU, Count: 2}),
	}
	for _, node := range []string{"p5", "own"} {
		errs = append(errs, r.OtherDevices(ctx, node, classNPU, 16), r.OtherDevices(ctx, node, classNIC, 16))
	}
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// awaitClasses returns when the webhook and the scheduler know the configured classes.
func awaitClasses(ctx context.Context, t *testing.T, r *rig.Rig) {
	t.Helper()
	probe := rig.Workload{Namespace: "priced", Name: "probe", Template: "npu", RunFor: time.Millisecond}
	await(ctx, t, r, "the webhook knows the classes", func() bool {
		pod, err := r.DryRun(ctx, probe.Pod("dry"))
		return err == nil && pod.Annotations[v1alpha1.AnnotationHourlyMax] == "13.76"
	})
	for i := range 20 {
		pod := probe.Pod(fmt.Sprintf("probe-%d", i))
		if _, err := r.Client.CoreV1().Pods("priced").Create(ctx, pod, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		await(ctx, t, r, pod.Name+" is bound", func() bool {
			found := r.Watch.Pod("priced", pod.Name)
			return found != nil && found.Node != ""
		})
		if r.Watch.Pod("priced", pod.Name).Annotations[v1alpha1.AnnotationBoundHourly] != "" {
			return
		}
	}
	t.Fatal("the scheduler does not price pods of a class that the configuration names")
}

// isProbe tells pods that only waited for the configuration.
func isProbe(p rig.Pod) bool { return strings.HasPrefix(p.Name, "probe-") }

// TestBoundPriceLiesWithinTheEstimate sends random pods and compares what each was told at
// admission with what its node costs.
func TestBoundPriceLiesWithinTheEstimate(t *testing.T) {
	onNative(t, rig.Options{Nodes: pricedNodes, Webhooks: 1}, func(ctx context.Context, t *testing.T, r *rig.Rig) {
		if err := r.SetConfig(ctx, v1alpha1.PricesConfigMap, v1alpha1.PricesKey, book); err != nil {
			t.Fatal(err)
		}
		if err := r.SetConfig(ctx, v1alpha1.QuotaConfigMap, v1alpha1.QuotaKey, pricedClasses); err != nil {
			t.Fatal(err)
		}
		publishClasses(ctx, t, r)
		own := rig.Workload{Namespace: "priced", Name: "dry", Resource: rig.ResourceGPU, Node: "own"}
		await(ctx, t, r, "the book is in force", func() bool {
			pod, err := r.DryRun(ctx, own.Pod("dry"))
			return err == nil && pod.Annotations[v1alpha1.AnnotationHourlyMax] == "4.20"
		})
		awaitClasses(ctx, t, r)
		const pods = 1000
		random := rand.New(rand.NewPCG(1, 2))
		for i := range pods {
			pod := randomPod(random, fmt.Sprintf("p-%d", i))
			if _, err := r.Client.CoreV1().Pods("priced").Create(ctx, pod, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		await(ctx, t, r, "every pod has had its turn", func() bool {
			return count(r, func(p rig.Pod) bool {
				return p.Namespace == "priced" && !isProbe(p) && p.Annotations[v1alpha1.AnnotationBoundHourly] != ""
			}) == pods
		})
		judgePrices(t, r)
	})
}

// count counts pods that are gone too.
func count(r *rig.Rig, match func(rig.Pod) bool) int {
	n := 0
	for _, p := range r.Watch.Pods() {
		if match(p) {
			n++
		}
	}
	return n
}

// judgePrices compares bounds and price of every pod, and tells how wide the bounds are.
func judgePrices(t *testing.T, r *rig.Rig) {
	t.Helper()
	within, unknown := 0, 0
	var widths []int64
	for _, p := range r.Watch.Pods() {
		if p.Namespace != "priced" || isProbe(p) {
			continue
		}
		least, err1 := pricing.ParseAmount(p.Admitted[v1alpha1.AnnotationHourlyMin])
		most, err2 := pricing.ParseAmount(p.Admitted[v1alpha1.AnnotationHourlyMax])
		bound, err3 := pricing.ParseAmount(p.Annotations[v1alpha1.AnnotationBoundHourly])
		if err1 != nil || err2 != nil || err3 != nil {
			t.Errorf("%s on %s: %v to %v, then %v: %v", p.Name, p.Node, p.Admitted[v1alpha1.AnnotationHourlyMin],
				p.Admitted[v1alpha1.AnnotationHourlyMax], p.Annotations[v1alpha1.AnnotationBoundHourly], []error{err1, err2, err3})
			unknown++
			continue
		}
		if least <= bound && bound <= most {
			within++
		} else {
			t.Errorf("%s on %s: bound at %d, admitted at %d to %d", p.Name, p.Node, bound, least, most)
		}
		widths = append(widths, most-least)
		if onePriceOnly[p.Annotations["test/pinned"]] && least != most {
			t.Errorf("%s was pinned to %s and is admitted at %d to %d", p.Name, p.Annotations["test/pinned"], least, most)
		}
	}
	slices.Sort(widths)
	zero := 0
	for _, width := range widths {
		if width == 0 {
			zero++
		}
	}
	t.Logf("price at binding within the range at admission: %d of %d; unknown: %d; width of the range: median %s, least %s, greatest %s USD/h; width zero: %d",
		within, len(widths)+unknown, unknown, pricing.Format(widths[len(widths)/2]), pricing.Format(widths[0]), pricing.Format(widths[len(widths)-1]), zero)
}

// onePriceOnly are the node groups that have one product at one price.
var onePriceOnly = map[string]bool{"train": false, "batch": true, "own": true, "notebooks": true, "serving": true, "dra": true, "dra-own": true}

// randomPod asks for something that some node has, sometimes pinned to a group.
func randomPod(random *rand.Rand, name string) *corev1.Pod {
	kinds := []struct {
		resource string
		template string
		most     int64
		groups   []string
	}{
		{rig.ResourceGPU, "", 4, []string{"", "train", "batch", "own"}},
		{rig.ResourceMIG1g, "", 3, []string{"", "notebooks", "notebooks-own"}},
		{rig.ResourceMIG2g, "", 2, []string{"", "notebooks", "notebooks-own"}},
		{rig.ResourceShared, "", 3, []string{"", "serving", "serving-8"}},
		{"", "one", 1, []string{"", "dra", "dra-own"}},
		{"", "products", 1, []string{"", "dra", "dra-own"}},
		{"", "better", 1, []string{"", "dra", "dra-own"}},
		{"", "drivers", 1, []string{""}},
		{"", "npu", 1, []string{"", "own"}},
		{rig.ResourceGPU, "npu", 2, []string{"", "own"}},
		{rig.ResourceGPU, "nic", 2, []string{"", "own"}},
	}
	kind := kinds[random.IntN(len(kinds))]
	w := rig.Workload{
		Namespace: "priced", Name: "p", Resource: kind.resource, Template: kind.template, Count: 1 + random.Int64N(kind.most), RunFor: 50 * time.Millisecond,
	}
	pod := w.Pod(name)
	if group := kind.groups[random.IntN(len(kind.groups))]; group != "" {
		pod.Spec.NodeSelector = map[string]string{"eks.amazonaws.com/nodegroup": group}
		pod.Annotations["test/pinned"] = group
	}
	return pod
}
