package candidate

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"wastenot.dev/internal/accelerator"
)

// maxMixes is how many mixes of profiles are tried on one node.
const maxMixes = 32

// look is one question.
type look struct {
	*Finder
	pod    *corev1.Pod
	needs  []need
	labels []string
	pools  pools
	// evaluations is how many selectors may still be evaluated.
	evaluations int
}

// mayHold tells whether the node has accelerators of the kinds that are needed. It is
// cheap.
func (l *look) mayHold(node *corev1.Node) bool {
	for i := range l.needs {
		n := &l.needs[i]
		if len(n.choices) == 0 && hasResource(node, &n.Demand) {
			continue
		}
		if len(n.choices)+len(n.standIns) == 0 {
			return false
		}
		if len(l.pools.shared) == 0 && len(l.cluster.SlicesOf(node.Name)) == 0 {
			return false
		}
	}
	return true
}

// optionsOn returns what the pod would take on the node; nothing where that lacks
// something.
func (l *look) optionsOn(ctx context.Context, node *corev1.Node) []Option {
	var devices []device
	mixes := [][]accelerator.Demand{nil}
	for i := range l.needs {
		n := &l.needs[i]
		wants := []accelerator.Demand{n.Demand}
		if len(n.choices) > 0 || !hasResource(node, &n.Demand) {
			if devices == nil {
				devices = l.pools.devices(node)
			}
			if wants = l.wants(ctx, devices, n); len(wants) == 0 {
				return nil
			}
		}
		mixes = product(mixes, wants)
	}
	options := make([]Option, 0, len(mixes))
	for _, mix := range mixes {
		options = append(options, Option{Node: node, Wants: mix})
	}
	return options
}

// wants returns what meets the need, once per profile. All of the need's requests are
// given the same one, so that the cheapest and the dearest bound every mix.
func (l *look) wants(ctx context.Context, devices []device, n *need) []accelerator.Demand {
	profiles := map[string]bool{}
	choices := n.choices
	if len(choices) == 0 {
		choices = n.standIns
	}
	for _, c := range choices {
		for _, profile := range l.profiles(ctx, devices, c) {
			profiles[profile] = true
		}
	}
	var wants []accelerator.Demand
	for _, profile := range slices.Sorted(maps.Keys(profiles)) {
		demand := n.Demand
		if demand.Profile == "" {
			demand.Profile = profile
		}
		wants = append(wants, demand)
	}
	return slices.Compact(wants)
}

// product adds each of the wants to each of the mixes. Beyond maxMixes only the first
// is added, which is a whole device where that is possible.
func product(mixes [][]accelerator.Demand, wants []accelerator.Demand) [][]accelerator.Demand {
	if len(mixes)*len(wants) > maxMixes {
		wants = wants[:1]
	}
	out := make([][]accelerator.Demand, 0, len(mixes)*len(wants))
	for _, mix := range mixes {
		for _, want := range wants {
			out = append(out, append(slices.Clone(mix), want))
		}
	}
	return out
}

// kindLabels are the labels by which prices tell nodes apart, beside those of NVIDIA
// and those of the price book's own selectors.
var kindLabels = []string{corev1.LabelInstanceTypeStable, corev1.LabelInstanceType, corev1.LabelTopologyRegion, corev1.LabelFailureDomainBetaRegion}

const (
	nvidiaPrefix = "nvidia.com/"
	// timestampLabel says when NVIDIA's labels were written and differs on every node.
	timestampLabel = "nvidia.com/gfd.timestamp"
)

// kindOf names the node's kind: nodes of one kind have the same price.
func (l *look) kindOf(node *corev1.Node) string {
	var kind strings.Builder
	for _, labels := range [][]string{kindLabels, l.labels, nvidiaLabels(node)} {
		for _, label := range labels {
			kind.WriteString(label)
			kind.WriteByte('=')
			kind.WriteString(node.Labels[label])
			kind.WriteByte('\n')
		}
	}
	counts := map[string]int{}
	for name, quantity := range node.Status.Capacity {
		if accelerator.KindOf(name) != accelerator.KindNone {
			counts[string(name)] = int(quantity.Value())
		}
	}
	kind.WriteString(countsText(counts))
	if l.readsDevices() {
		kind.WriteByte('\n')
		kind.WriteString(summary(l.pools.devices(node)))
	}
	return kind.String()
}

// readsDevices tells whether the devices of DRA drivers matter.
func (l *look) readsDevices() bool {
	return slices.ContainsFunc(l.needs, func(n need) bool { return len(n.choices)+len(n.standIns) > 0 })
}

func nvidiaLabels(node *corev1.Node) []string {
	var labels []string
	for label := range node.Labels {
		if strings.HasPrefix(label, nvidiaPrefix) && label != timestampLabel {
			labels = append(labels, label)
		}
	}
	slices.Sort(labels)
	return labels
}

func countsText(counts map[string]int) string {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, key+":"+strconv.Itoa(counts[key]))
	}
	return strings.Join(parts, ",")
}
