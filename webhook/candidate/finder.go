package candidate

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	dracel "k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/klog/v2"

	"wastenot.dev/internal/accelerator"
)

const (
	// maxNodes is how many nodes with the right accelerators are looked at.
	maxNodes = 2000
	// maxKinds is how many kinds of nodes are told apart.
	maxKinds = 200
	// compiledSelectors is how many CEL selectors are kept compiled.
	compiledSelectors = 256
)

// Cluster is the snapshot that is read.
type Cluster interface {
	// Nodes returns all nodes, in any order.
	Nodes() []*corev1.Node
	// SlicesOf returns the ResourceSlices of a node, and with "" those that belong to no
	// single node.
	SlicesOf(node string) []*resourceapi.ResourceSlice
	// Classes returns all DeviceClasses.
	Classes() []*resourceapi.DeviceClass
}

// Option is one kind of node and what the pod would take there.
type Option struct {
	// Node is one of the kind.
	Node *corev1.Node
	// Wants is the pod's demand. A device of a DRA driver that is a MIG instance bears
	// its profile.
	Wants []accelerator.Demand
}

// Finder finds options.
type Finder struct {
	cluster Cluster
	objects accelerator.Objects
	// selectors are compiled once; they may be used by several requests at a time.
	selectors *dracel.Cache
}

// NewFinder returns a finder over the snapshot. Objects finds what claims refer to.
func NewFinder(cluster Cluster, objects accelerator.Objects) *Finder {
	return &Finder{cluster: cluster, objects: objects, selectors: dracel.NewCache(compiledSelectors, dracel.Features{
		EnableConsumableCapacity: true, EnableListTypeAttributes: true,
	})}
}

// Options returns the kinds of nodes that the pod can land on, and for each what it
// would take; several times where a claim may be met by MIG instances of several
// profiles. The labels are those by which prices tell nodes apart, beside the usual
// ones. When ctx ends, what was found until then is returned.
func (f *Finder) Options(ctx context.Context, pod *corev1.Pod, demand []accelerator.Demand, labels []string) []Option {
	if len(demand) == 0 {
		return nil
	}
	look := &look{Finder: f, pod: pod, needs: f.needs(pod, demand), labels: labels, evaluations: maxEvaluations, pools: newPools(f.cluster)}
	affinity := nodeaffinity.GetRequiredNodeAffinity(pod)
	logger := klog.FromContext(ctx)
	kinds := map[string]bool{}
	var options []Option
	seen := 0
	for _, node := range f.nodes(pod) {
		if ctx.Err() != nil || seen >= maxNodes || len(kinds) >= maxKinds {
			break
		}
		if !look.mayHold(node) {
			continue
		}
		seen++
		if !allows(logger, pod, affinity, node) {
			continue
		}
		kind := look.kindOf(node)
		if kinds[kind] {
			continue
		}
		if found := look.optionsOn(ctx, node); len(found) > 0 {
			kinds[kind] = true
			options = append(options, found...)
		}
	}
	return options
}

// nodes returns the nodes to look at in order of name, so that equal questions have
// equal answers.
func (f *Finder) nodes(pod *corev1.Pod) []*corev1.Node {
	all := f.cluster.Nodes()
	if pod.Spec.NodeName != "" {
		i := slices.IndexFunc(all, func(n *corev1.Node) bool { return n.Name == pod.Spec.NodeName })
		if i < 0 {
			return nil
		}
		return all[i : i+1]
	}
	nodes := slices.Clone(all)
	slices.SortFunc(nodes, func(a, b *corev1.Node) int { return strings.Compare(a.Name, b.Name) })
	return nodes
}

// allows tells whether selectors, affinity and taints let the pod onto the node. A pod
// that names its node is there whatever they say. Kubernetes' own taints pass with
// what they are about, such as pressure or a cordon.
func allows(logger klog.Logger, pod *corev1.Pod, affinity nodeaffinity.RequiredNodeAffinity, node *corev1.Node) bool {
	if pod.Spec.NodeName != "" {
		return true
	}
	if matches, err := affinity.Match(node); err != nil || !matches {
		return false
	}
	_, untolerated := corev1helpers.FindMatchingUntoleratedTaint(logger, node.Spec.Taints, pod.Spec.Tolerations, func(taint *corev1.Taint) bool {
		return taint.Effect != corev1.TaintEffectPreferNoSchedule && !strings.HasPrefix(taint.Key, "node.kubernetes.io/")
	}, true)
	return !untolerated
}

// Where names the options' instance type in a few words; "" where they have none.
func Where(options []Option) string {
	types := map[string]bool{}
	last := ""
	for _, option := range options {
		if last = option.Node.Labels[corev1.LabelInstanceTypeStable]; last != "" {
			types[last] = true
		}
	}
	switch len(types) {
	case 0:
		return ""
	case 1:
		for only := range types {
			return only
		}
		return ""
	default:
		return "depends on the node"
	}
}
