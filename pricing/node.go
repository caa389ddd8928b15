package pricing

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"wastenot.dev/internal/accelerator"
)

// The labels of a node that prices depend on. Those of NVIDIA are set by GPU feature
// discovery, which counts physical devices in gpu.count and gives in gpu.replicas how
// often each is offered (github.com/NVIDIA/k8s-device-plugin, docs/gpu-feature-discovery).
const (
	labelInstanceType = corev1.LabelInstanceTypeStable
	labelRegion       = corev1.LabelTopologyRegion
	labelStrategy     = "nvidia.com/gpu.sharing-strategy"
	suffixProduct     = ".product"
	suffixCount       = ".count"
	suffixReplicas    = ".replicas"
	suffixShared      = ".shared"
)

// The resources that nodes offer.
const (
	resourceGPU          = "nvidia.com/gpu"
	resourceNeuron       = "aws.amazon.com/neuron"
	resourceNeuronDevice = "aws.amazon.com/neurondevice"
	resourceNeuronCore   = "aws.amazon.com/neuroncore"
)

// nodeView is what prices depend on of a node.
type nodeView struct {
	labels               map[string]string
	capacity             corev1.ResourceList
	instanceType, region string
	// product is without suffixes; profile is the MIG profile into which all devices
	// are split, if so.
	product, profile string
	// row is what the built-in list says of the instance type, or nil, and exact tells
	// that it says so of the node's region.
	row   *listRow
	exact bool
}

func (b *Book) view(node *corev1.Node) nodeView {
	if node == nil {
		return nodeView{}
	}
	v := nodeView{
		labels: node.Labels, capacity: node.Status.Capacity,
		instanceType: node.Labels[labelInstanceType], region: node.Labels[labelRegion],
	}
	label := v.labels[resourceGPU+suffixProduct]
	v.product, v.profile = accelerator.StripProduct(label), accelerator.ProductProfile(label)
	v.row, v.exact = b.list.find(v.instanceType, v.region)
	return v
}

// card is the product by which MIG profiles are looked up: the label's, else the one
// that the instance type has.
func (v *nodeView) card() string {
	if v.product == "" && v.row != nil {
		return v.row.product
	}
	return v.product
}

// listed is how many devices the instance type has, 0 where the list does not say.
func (v *nodeView) listed() int64 {
	if v.row == nil {
		return 0
	}
	return v.row.devices
}

// devices is how many physical devices the node shows, 0 where it does not say. The
// label and the capacity can both have lost a device that failed, so the greater counts.
func (v *nodeView) devices() int64 {
	return max(v.gpus(), v.neurons())
}

func (v *nodeView) gpus() int64 {
	if v.profile != "" {
		return 0 // Label and capacity count instances.
	}
	count := v.number(resourceGPU + suffixCount)
	if v.isSplit() {
		return count // Capacity leaves out the devices that are split.
	}
	whole := v.offers(resourceGPU)
	if v.isShared(resourceGPU) {
		whole = over(whole, v.number(resourceGPU+suffixReplicas))
	}
	return max(count, whole, over(v.offers(resourceGPU+suffixShared), v.number(resourceGPU+suffixReplicas)))
}

func (v *nodeView) neurons() int64 {
	devices := max(v.offers(resourceNeuron), v.offers(resourceNeuronDevice))
	if devices > 0 {
		return devices
	}
	return over(v.offers(resourceNeuronCore), v.coresPerDevice())
}

// over divides, 0 where the divisor is not known.
func over(a, b int64) int64 {
	if b <= 0 {
		return 0
	}
	return a / b
}

// isSplit tells whether the node offers MIG instances under names of their own.
func (v *nodeView) isSplit() bool {
	for name := range v.capacity {
		if accelerator.KindOf(name) == accelerator.KindMIG {
			return true
		}
	}
	return false
}

// isShared tells whether the node offers each device, or instance, of the resource more
// than once under the resource's own name.
func (v *nodeView) isShared(resource string) bool {
	strategy := v.labels[labelStrategy]
	return strategy == "time-slicing" || strategy == "mps" || accelerator.ProductShared(v.labels[resource+suffixProduct])
}

// offers is the node's capacity of the resource, at least 0.
func (v *nodeView) offers(resource corev1.ResourceName) int64 {
	quantity, ok := v.capacity[resource]
	if !ok {
		return 0
	}
	return max(quantity.Value(), 0)
}

// number reads a label that counts, 0 where it is missing or does not.
func (v *nodeView) number(label string) int64 {
	text := v.labels[label]
	if text == "" {
		return 0 // The common case, and an error would cost an allocation.
	}
	value, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0
	}
	return max(value, 0)
}

// neuronCores is how many cores a device of an instance family has, by the Neuron
// documentation (awsdocs-neuron.readthedocs-hosted.com, "Neuron Hardware", read
// 2026-11-30). Of Trainium2 and later the plugin may offer logical cores, each of two of
// the eight, so that only the node itself can tell.
var neuronCores = map[string]int64{"inf1": 4, "inf2": 2, "trn1": 2, "trn1n": 2}

// coresPerDevice is how many cores share a Neuron device, 0 where it is not known: what
// the node offers of both, else what its family has.
func (v *nodeView) coresPerDevice() int64 {
	devices, cores := max(v.offers(resourceNeuron), v.offers(resourceNeuronDevice)), v.offers(resourceNeuronCore)
	if devices > 0 && cores > 0 && cores%devices == 0 {
		return cores / devices
	}
	family, _, _ := strings.Cut(v.instanceType, ".")
	return neuronCores[family]
}
