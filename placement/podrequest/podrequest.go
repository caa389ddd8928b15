package podrequest

import (
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/component-helpers/resource"

	"wastenot.dev/internal/accelerator"
	"wastenot.dev/placement/packing"
)

// LabelProduct is the label by which GPU feature discovery says which model a node has.
const LabelProduct = "nvidia.com/gpu.product"

// MaxProducts is how many products a pod may name; one that names more might as well
// name none.
const MaxProducts = 32

// Of returns what the pod counts as: one request for each accelerator resource
// that it asks for, in order of resource name, each with all of the pod's CPU and memory,
// rounded up to thousandths and MiB; nothing for a pod that asks for none, or that no
// node's product can serve. Accelerators that are asked for by claims are not counted.
func Of(pod *corev1.Pod) []packing.Request {
	asked := accelerator.RequestOf(pod)
	if len(asked) == 0 {
		return nil
	}
	products, open := productsOf(&pod.Spec)
	if !open && len(products) == 0 {
		return nil
	}
	all := resource.PodRequests(pod, resource.PodResourcesOptions{})
	cpu, memory := CPUMilli(all[corev1.ResourceCPU]), MemoryMiB(all[corev1.ResourceMemory])
	requests := make([]packing.Request, 0, len(asked))
	for i := range asked {
		requests = append(requests, packing.Request{
			Kind: string(asked[i].Resource), Count: int32(asked[i].Count), Milli: packing.Whole,
			CPUMilli: cpu, MemoryMiB: memory, Products: Products(products),
		})
	}
	return requests
}

// productsOf returns the values of LabelProduct of which a node must have one to take
// the pod; open is true where the pod does not say, or says so many that it might as well
// not. What is excluded (NotIn) does not say what there must be.
func productsOf(spec *corev1.PodSpec) (products []string, open bool) {
	products, open = productsOfAffinity(spec.Affinity)
	if product, given := spec.NodeSelector[LabelProduct]; given {
		if open || slices.Contains(products, product) {
			return valid([]string{product}), false
		}
		return nil, false
	}
	products = valid(products)
	if open || len(products) > MaxProducts {
		return nil, true
	}
	return products, false
}

// productsOfAffinity joins the products of the terms, of which a node must match one.
func productsOfAffinity(affinity *corev1.Affinity) (products []string, open bool) {
	if affinity == nil || affinity.NodeAffinity == nil || affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return nil, true
	}
	for _, term := range affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		if len(term.MatchExpressions)+len(term.MatchFields) == 0 {
			continue // An empty term matches no node.
		}
		ofTerm, anything := productsOfTerm(term.MatchExpressions)
		if anything {
			return nil, true
		}
		products = append(products, ofTerm...)
	}
	return products, false
}

// productsOfTerm intersects the products of the expressions, all of which a node must
// match.
func productsOfTerm(expressions []corev1.NodeSelectorRequirement) (products []string, open bool) {
	open = true
	for i := range expressions {
		if expressions[i].Key != LabelProduct || expressions[i].Operator != corev1.NodeSelectorOpIn {
			continue
		}
		if open {
			products, open = slices.Clone(expressions[i].Values), false
			continue
		}
		products = slices.DeleteFunc(products, func(product string) bool { return !slices.Contains(expressions[i].Values, product) })
	}
	return products, open
}

// valid leaves out what no label can hold.
func valid(products []string) []string {
	products = slices.DeleteFunc(slices.Clone(products), func(product string) bool {
		return product == "" || len(validation.IsValidLabelValue(product)) > 0
	})
	slices.Sort(products)
	return slices.Compact(products)
}

// Products spells a set of products as requests have it.
func Products(products []string) string {
	return strings.Join(slices.Sorted(slices.Values(products)), "|")
}

// most is where amounts end. It leaves room to add up what the pods of a node ask for.
const most = math.MaxInt32

// CPUMilli is an amount of CPU in thousandths, rounded up.
func CPUMilli(amount apiresource.Quantity) int64 {
	if amount.CmpInt64(most) > 0 { // Values beyond 64 bits would wrap around.
		return most * 1000
	}
	return max(amount.MilliValue(), 0)
}

// MemoryMiB is an amount of bytes in MiB, rounded up.
func MemoryMiB(amount apiresource.Quantity) int64 {
	const mebibyte = 1 << 20
	if amount.CmpInt64(most*mebibyte) > 0 {
		return most
	}
	return max((amount.Value()+mebibyte-1)/mebibyte, 0)
}
