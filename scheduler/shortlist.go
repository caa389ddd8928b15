package scheduler

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"wastenot.dev/placement"
	"wastenot.dev/placement/packing"
)

// shortlistSize is how many nodes are filtered and scored for a pod whose best nodes are
// known beforehand. It leaves the other plugins a choice.
const shortlistSize = 32

// rank brings the roster up to date, notes in the state what each node is worth to the
// pod, and returns the nodes that should be looked at; nil is all of them.
func (f *facts) rank(s *state, pod *corev1.Pod, requests []packing.Request, nodes []fwk.NodeInfo) *fwk.PreFilterResult {
	f.roster.mu.Lock()
	defer f.roster.mu.Unlock()
	// The sources have what is new before they touch the roster, and we hold its lock.
	latest := f.fleet.Snapshot() == s.fleet && f.quarantines.Current() == s.quarantines
	f.roster.follow(s, nodes, latest)
	f.roster.observe(pod, requests, f.gone)
	f.roster.expect(s.fleet.Mix)
	s.asked = requests
	if len(requests) != 1 || !mayNarrow(pod) || f.widened.has(pod.UID) {
		return nil
	}
	best := f.roster.index.Best(&requests[0], shortlistSize, f.roster.accepts(s, pod))
	if len(best) == 0 {
		return nil
	}
	names := sets.New[string]()
	s.scores = make(map[string]int64, len(best))
	for i := range best {
		names.Insert(best[i].Name)
		s.scores[best[i].Name] = placement.ScoreAt(best[i].Tier, i)
	}
	s.narrowed = true
	return &fwk.PreFilterResult{NodeNames: names}
}

// mayNarrow tells whether other plugins will probably be content with nodes that have
// room for the pod: it asks for nothing that only some of them may have and that accepts
// does not look at.
func mayNarrow(pod *corev1.Pod) bool {
	spec := &pod.Spec
	if len(spec.ResourceClaims) > 0 || len(spec.TopologySpreadConstraints) > 0 || pod.Status.NominatedNodeName != "" || spec.SchedulingGroup != nil {
		return false
	}
	if a := spec.Affinity; a != nil && (a.PodAffinity != nil || a.PodAntiAffinity != nil) {
		return false
	}
	return !claimsVolumes(pod) && !takesHostPort(spec.Containers) && !takesHostPort(spec.InitContainers)
}

func takesHostPort(containers []corev1.Container) bool {
	for i := range containers {
		if slices.ContainsFunc(containers[i].Ports, func(port corev1.ContainerPort) bool { return port.HostPort > 0 }) {
			return true
		}
	}
	return false
}

// accepts returns what a node must fulfil to be on the list: the cheap ones of the
// filters that will judge it again.
func (r *roster) accepts(s *state, pod *corev1.Pod) func(name string) bool {
	required := nodeaffinity.GetRequiredNodeAffinity(pod)
	return func(name string) bool {
		info := r.infos[name]
		if info == nil || len(info.GetPods()) >= info.GetAllocatable().GetAllowedPodNumber() {
			return false
		}
		node := info.Node()
		if matches, err := required.Match(node); err != nil || !matches {
			return false
		}
		if _, untolerated := corev1helpers.FindMatchingUntoleratedTaint(klog.TODO(), node.Spec.Taints, pod.Spec.Tolerations, keepsAway, false); untolerated {
			return false
		}
		return !node.Spec.Unschedulable && len(s.check(node)) == 0
	}
}

func keepsAway(taint *corev1.Taint) bool {
	return taint.Effect == corev1.TaintEffectNoSchedule || taint.Effect == corev1.TaintEffectNoExecute
}
