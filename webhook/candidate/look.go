package candidate

import (
	"cmp"
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/utils/ptr"

	"wastenot.dev/internal/accelerator"
)

// look is one question.
type look struct {
	*Finder
	pod    *corev1.Pod
	needs  []need
	labels []string
	pools  pools
	// mentioned are the attributes of devices that selectors read.
	mentioned mentioned
	// evaluations is how many selectors may still be evaluated.
	evaluations int
	// cut tells that there may be more than was found.
	cut bool
}

// mayHold tells whether the node has accelerators of the kinds that are needed. It is
// cheap.
func (l *look) mayHold(node *corev1.Node) bool {
	for i := range l.needs {
		n := &l.needs[i]
		if n.resource.Class != "" && hasResource(node, &n.resource) {
			continue
		}
		if len(n.choices) == 0 {
			return false
		}
		if len(l.pools.shared) == 0 && len(l.cluster.SlicesOf(node.Name)) == 0 {
			return false
		}
	}
	return true
}

// mix is one way to meet all needs, in order of class and profile.
type mix []accelerator.Demand

// optionsOn returns what the pod can be given on the node; nothing where that lacks
// something.
func (l *look) optionsOn(ctx context.Context, node *corev1.Node) []Option {
	devices := l.pools.devices(node)
	mixes := []mix{nil}
	for i := range l.needs {
		n := &l.needs[i]
		wants := []accelerator.Demand{n.resource}
		if n.resource.Class == "" || !hasResource(node, &n.resource) {
			if wants = l.wants(ctx, devices, n); len(wants) == 0 {
				return nil
			}
		}
		mixes = l.product(mixes, wants)
	}
	options := make([]Option, 0, len(mixes))
	for _, m := range mixes {
		options = append(options, Option{Node: node, Wants: m})
	}
	return options
}

// wants returns what meets the need, each once: per alternative, and per profile of the
// devices that meet it. One without a class meets it by what is no accelerator.
func (l *look) wants(ctx context.Context, devices []device, n *need) []accelerator.Demand {
	var wants []accelerator.Demand
	for i := range n.choices {
		for _, want := range l.given(ctx, devices, &n.choices[i]) {
			switch {
			case n.resource.Class != "":
				want = n.resource // The scheduler does not say which devices stood in.
			case want.Class == "":
				want = accelerator.Demand{}
			default:
				want.Count *= n.times
			}
			if !slices.Contains(wants, want) {
				wants = append(wants, want)
			}
		}
	}
	return wants
}

// given returns what devices that meet the choice count as, once per profile; nothing
// where there are too few of them. That all are of one profile bounds every mix.
func (l *look) given(ctx context.Context, devices []device, c *choice) []accelerator.Demand {
	var wants []accelerator.Demand
	var count int64
	endless := false
	for _, d := range devices {
		if !l.meets(ctx, d, c.selectors) {
			continue
		}
		count++
		endless = endless || ptr.Deref(d.AllowMultipleAllocations, false)
		if want := c.want.Of(d.Device); !slices.Contains(wants, want) {
			wants = append(wants, want)
		}
	}
	taken := c.taken(count, endless)
	if taken == 0 {
		return nil
	}
	slices.SortFunc(wants, compare)
	for i := range wants {
		wants[i].Count = taken
	}
	return wants
}

// taken is how many devices the choice takes where count meet it, or 0 where it cannot
// be met. Endless tells that one can be taken several times.
func (c *choice) taken(count int64, endless bool) int64 {
	if count == 0 {
		return 0
	}
	taken := c.count
	if taken == 0 {
		taken = count
	}
	if taken > resourceapi.AllocationResultsMaxSize || taken > count && !endless {
		return 0
	}
	return taken
}

// product adds each of the wants to each of the mixes, and leaves out what goes beyond
// the limit.
func (l *look) product(mixes []mix, wants []accelerator.Demand) []mix {
	out := make([]mix, 0, min(len(mixes)*len(wants), l.limits.mixes))
	for _, m := range mixes {
		for _, want := range wants {
			next := m.plus(want)
			if slices.ContainsFunc(out, func(other mix) bool { return slices.Equal(other, next) }) {
				continue
			}
			if len(out) >= l.limits.mixes {
				l.cut = true
				return out
			}
			out = append(out, next)
		}
	}
	return out
}

// plus is the mix with more.
func (m mix) plus(want accelerator.Demand) mix {
	if want.Class == "" {
		return m
	}
	out := slices.Clone(m)
	i, found := slices.BinarySearchFunc(out, want, compare)
	if found {
		out[i].Count += want.Count
		return out
	}
	return slices.Insert(out, i, want)
}

func compare(a, b accelerator.Demand) int {
	return cmp.Or(cmp.Compare(a.Class, b.Class), cmp.Compare(a.Profile, b.Profile), cmp.Compare(a.Kind, b.Kind))
}
