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

// compiledSelectors is how many CEL selectors are kept compiled.
const compiledSelectors = 256

// limits bound the work for one pod.
type limits struct {
	// nodes is how many nodes are looked at that the pod may land on.
	nodes int
	// kinds is how many kinds of nodes are told apart.
	kinds int
	// mixes is how many ways to meet all that the pod asks for are tried on one node.
	mixes int
	// evaluations is how many selectors are evaluated. One takes some microseconds.
	evaluations int
}

var usualLimits = limits{nodes: 2000, kinds: 200, mixes: 64, evaluations: 20_000}

// Cluster is what is read: a snapshot, and what claims refer to.
type Cluster interface {
	// Nodes returns all nodes, in any order.
	Nodes() []*corev1.Node
	// SlicesOf returns the ResourceSlices of a node, and with "" those that belong to no
	// single node.
	SlicesOf(node string) []*resourceapi.ResourceSlice
	// Classes returns all DeviceClasses.
	Classes() []*resourceapi.DeviceClass
	// Claims finds what claims refer to, for as long as ctx lasts. It should find whatever
	// was found when the pod's demand was counted.
	Claims(ctx context.Context) accelerator.Objects
}

// Option is one kind of node and what the pod would take there.
type Option struct {
	// Node is one of the kind.
	Node *corev1.Node
	// Wants is what the pod would be given, in order of class and profile. A device of a
	// DRA driver that is a MIG instance bears its profile. It is empty where the pod can
	// be given something that is no accelerator instead.
	Wants []accelerator.Demand
}

// Finder finds options.
type Finder struct {
	cluster Cluster
	limits  limits
	// selectors are compiled once; they may be used by several requests at a time.
	selectors *dracel.Cache
}

// NewFinder returns a finder over the cluster.
func NewFinder(cluster Cluster) *Finder {
	return &Finder{cluster: cluster, limits: usualLimits, selectors: dracel.NewCache(compiledSelectors, dracel.Features{
		EnableConsumableCapacity: true, EnableListTypeAttributes: true,
	})}
}

// Options returns the kinds of nodes that the pod can land on, and for each what it
// would be given; several times where a request lists alternatives, or may be met by MIG
// instances of several profiles. The demand says which classes are accelerators. The
// labels are those by which prices tell nodes apart, beside the usual ones.
//
// Complete tells that there are no others. It is false when ctx ended, a limit was
// reached or something that a claim refers to was not found; what was found until then
// is returned.
func (f *Finder) Options(ctx context.Context, pod *corev1.Pod, demand []accelerator.Demand, labels []string) (options []Option, complete bool) {
	if len(demand) == 0 {
		return nil, true
	}
	l := &look{Finder: f, pod: pod, labels: labels, evaluations: f.limits.evaluations, pools: newPools(f.cluster)}
	l.needs, l.cut = f.needs(ctx, pod, demand)
	l.mentioned = mentionedIn(l.needs)
	affinity := nodeaffinity.GetRequiredNodeAffinity(pod)
	logger := klog.FromContext(ctx)
	tried := map[string]bool{}
	seen, kinds := 0, 0
	for _, node := range f.nodes(pod) {
		if ctx.Err() != nil {
			break
		}
		if !l.mayHold(node) || !allows(logger, pod, affinity, node) {
			continue
		}
		if seen++; seen > f.limits.nodes {
			l.cut = true
			break
		}
		kind := l.kindOf(node)
		if tried[kind] {
			continue
		}
		tried[kind] = true
		found := l.optionsOn(ctx, node)
		if len(found) == 0 {
			continue
		}
		if kinds++; kinds > f.limits.kinds {
			l.cut = true
			break
		}
		options = append(options, found...)
	}
	return options, !l.cut && ctx.Err() == nil
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
