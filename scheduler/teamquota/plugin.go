package teamquota

import (
	"context"
	"errors"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/quota"
)

// Name is the plugin's name in a scheduler configuration.
const Name = "TeamQuota"

// Plugin holds accelerator pods of teams that are full.
type Plugin struct{ *books }

var (
	_ fwk.PreEnqueuePlugin  = &Plugin{}
	_ fwk.ReservePlugin     = &Plugin{}
	_ fwk.EnqueueExtensions = &Plugin{}
	_ io.Closer             = &Plugin{}
)

// Name returns the plugin's name.
func (*Plugin) Name() string { return Name }

// EventsToRegister names none: whatever may give a team room wakes its pods directly.
func (*Plugin) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) { return nil, nil }

// Close ends what keeps the books current and waits for it.
func (p *Plugin) Close() error {
	p.close()
	return nil
}

// Factory makes the plugin for each profile that enables it. The profiles of one
// process share one count, or each would give the team its limit.
type Factory struct{ shared *books }

// New builds the plugin; it has the signature that kube-scheduler expects. It starts
// what keeps the books current; that ends with ctx or with Close.
func (f *Factory) New(ctx context.Context, object runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
	if unknown, ok := object.(*runtime.Unknown); ok && len(unknown.Raw) > 0 {
		return nil, fmt.Errorf("plugin %s takes no args: remove its pluginConfig", Name)
	}
	if f.shared == nil {
		shared, err := newBooks(ctx, handle)
		if err != nil {
			return nil, err
		}
		f.shared = shared
	}
	return &Plugin{f.shared}, nil
}

// PreEnqueue holds the pod while its team is full. What it lets through counts for a
// while, so that of a burst only those pass that fit: a pod that is turned away later
// looks unschedulable, and an autoscaler would buy a node for it. The queue keeps its lock
// meanwhile, so nothing is activated from here.
func (p *Plugin) PreEnqueue(ctx context.Context, pod *corev1.Pod) *fwk.Status {
	for {
		changes := p.changes.Load()
		s, want, err := p.subjectOf(pod)
		// A claim that does not exist yet, and a gate, are other plugins' reasons to wait.
		if s == nil || err != nil || len(pod.Spec.SchedulingGates) > 0 {
			p.parked.remove(pod.UID)
			return nil
		}
		want.step, want.until = passing, p.clock.Now().Add(passFor)
		why := p.against(s, nil, func() []quota.Shortage { return p.usage.pass(pod.UID, want, *s) })
		if why == nil {
			p.parked.remove(pod.UID)
			return nil
		}
		p.park(ctx, pod, s.team, *why)
		// Whoever makes room later finds the pod parked; what came before is looked at
		// once more.
		if p.changes.Load() == changes {
			return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, why.message)
		}
	}
}

// Reserve counts the pod in, or turns it away. It does so with an error: the pod is not
// unschedulable, no node would help it.
func (p *Plugin) Reserve(ctx context.Context, _ fwk.CycleState, pod *corev1.Pod, _ string) *fwk.Status {
	changes := p.changes.Load()
	s, want, err := p.subjectOf(pod)
	want.step = reserved
	if s == nil {
		p.usage.put(pod.UID, want)
		return nil
	}
	why := p.against(s, err, func() []quota.Shortage { return p.usage.reserve(pod.UID, want, *s) })
	if why == nil {
		p.parked.remove(pod.UID)
		return nil
	}
	turnedAway.Inc()
	p.usage.release(pod.UID)
	p.park(ctx, pod, s.team, *why)
	if p.changes.Load() != changes {
		p.activate(klog.FromContext(ctx), map[string]*corev1.Pod{string(pod.UID): pod})
	}
	return fwk.AsStatus(errors.New(why.message))
}

// Unreserve takes the pod out again, unless it was bound all the same.
func (p *Plugin) Unreserve(_ context.Context, _ fwk.CycleState, pod *corev1.Pod, _ string) {
	if p.usage.release(pod.UID) {
		p.roomIn(pod.Namespace, "a pod was not bound")
	}
}

// against says why the pod may not be bound; nil when it may. shortages is asked only when
// everything is known that it needs.
func (p *Plugin) against(s *subject, err error, shortages func() []quota.Shortage) *obstacle {
	switch {
	case !s.found:
		return inNamespace(s, fmt.Sprintf("namespace %s is not known to the scheduler yet", s.namespace))
	case s.team == "":
		return inNamespace(s, fmt.Sprintf("namespace %s has no team: ask a cluster administrator to set its label %s", s.namespace, v1alpha1.LabelTeam))
	case !p.counted():
		return inLedger(s, "status", "the pods that hold accelerators have not been counted yet")
	case s.spec == nil:
		return inLedger(s, "", fmt.Sprintf("team %s has no QuotaLedger: is it in ConfigMap %s, and does wastenot-webhook run?", s.team, v1alpha1.QuotaConfigMap))
	case err != nil:
		return inLedger(s, "spec.classes", fmt.Sprintf("what the pod asks for cannot be counted: %v", err))
	}
	return full(s, shortages())
}

// park keeps the pod for a retry and says why, once for each reason.
func (p *Plugin) park(ctx context.Context, pod *corev1.Pod, team string, why obstacle) {
	if !p.parked.add(pod, team, why.message) {
		return
	}
	klog.FromContext(ctx).V(4).Info("Holding a pod for quota", "pod", klog.KObj(pod), "team", team, "why", why.message)
	if p.recorder != nil {
		p.recorder.Eventf(pod, why.in, corev1.EventTypeWarning, v1alpha1.EventQuotaExceeded, "Scheduling", "%s", why.message)
	}
}
