package teamquota

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/dynamic"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/clock"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/internal/accelerator"
	"wastenot.dev/quota"
	"wastenot.dev/quota/store"
	"wastenot.dev/scheduler/claims"
)

// passFor is how long a pod that was let through counts against those that want to be,
// until it is reserved. One that finds no node must not keep its team from all others.
const passFor = 10 * time.Second

// ledgerSource has the teams' ledgers as last heard.
type ledgerSource interface {
	Latest(team string) *v1alpha1.QuotaLedger
}

// books is what every profile of the process knows: who holds what, who may hold how
// much, and who waits.
type books struct {
	ledgers    ledgerSource
	namespaces namespaceIndex
	pods       corelisters.PodLister
	objects    accelerator.Objects
	clock      clock.WithTicker
	usage      *usage
	parked     *parked
	// doubtful are bound pods whose claims could not all be read.
	doubtful *parked
	// changes grows before parked pods are woken.
	changes  atomic.Uint64
	activate func(klog.Logger, map[string]*corev1.Pod)
	recorder events.EventRecorder
	// complete tells that every bound pod was counted once, by all that it depends on.
	complete atomic.Bool
	// hashes is the configuration of each team's ledger when its pods were counted. Only
	// ledgerChanged uses it.
	hashes map[string]string

	stop    context.CancelFunc
	running sync.WaitGroup
}

// newBooks makes the books and starts what keeps them current.
func newBooks(ctx context.Context, handle fwk.Handle) (*books, error) {
	client, err := dynamic.NewForConfig(handle.KubeConfig())
	if err != nil {
		return nil, fmt.Errorf("building a client for quota ledgers: %w", err)
	}
	ledgers := store.New(client)
	core := handle.SharedInformerFactory().Core().V1()
	namespaces, err := indexNamespaces(core.Namespaces().Informer())
	if err != nil {
		return nil, err
	}
	b := &books{
		ledgers: ledgers, namespaces: namespaces, pods: core.Pods().Lister(), objects: claims.Of(handle), clock: clock.RealClock{},
		usage: newUsage(), parked: newParked(), doubtful: newParked(), hashes: map[string]string{},
		activate: handle.Activate, recorder: handle.EventRecorder(),
	}
	ledgers.OnChange(b.ledgerChanged)
	if err := b.watchPods(core.Pods().Informer()); err != nil {
		return nil, err
	}
	if err := b.watchNamespaces(core.Namespaces().Informer()); err != nil {
		return nil, err
	}
	registerMetrics(b)
	ctx, b.stop = context.WithCancel(ctx)
	b.running.Go(func() {
		if err := ledgers.Run(ctx); err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "Watching quota ledgers")
		}
	})
	b.running.Go(func() {
		if cache.WaitForCacheSync(ctx.Done(), append(needed(handle), ledgers.Synced)...) {
			b.keep(ctx)
		}
	})
	return b, nil
}

// needed are the caches that a count of pods depends on. Those of DRA are there when the
// scheduler itself uses it.
func needed(handle fwk.Handle) []cache.InformerSynced {
	factory := handle.SharedInformerFactory()
	needed := []cache.InformerSynced{factory.Core().V1().Pods().Informer().HasSynced, factory.Core().V1().Namespaces().Informer().HasSynced}
	if handle.SharedDRAManager() != nil {
		resource := factory.Resource().V1()
		needed = append(needed, resource.ResourceClaims().Informer().HasSynced, resource.DeviceClasses().Informer().HasSynced)
	}
	return needed
}

// close ends what was started and waits for it.
func (b *books) close() {
	b.stop()
	b.running.Wait()
}

func (b *books) counted() bool { return b.complete.Load() }

// subject is whose quota a pod is judged by.
type subject struct {
	namespace, team string
	// found tells whether the namespace is known.
	found bool
	// namespaces are all of the team's.
	namespaces []string
	// spec is nil where the team has no ledger.
	spec *v1alpha1.QuotaLedgerSpec
}

// subjectOf returns by what the pod is judged and what it asks for; nil when it asks for
// no accelerator or its namespace does not enforce. A namespace that is not known may
// enforce. An error tells of claims that could not be found; what the pod asks for besides
// is returned with it.
func (b *books) subjectOf(pod *corev1.Pod) (*subject, holding, error) {
	namespace, found := b.namespaces.get(pod.Namespace)
	s := &subject{namespace: pod.Namespace, found: found, team: namespace.Labels[v1alpha1.LabelTeam]}
	s.spec = b.specOf(s.team)
	want, err := b.demandOf(pod, s.spec)
	nothing := len(want.counts) == 0 && err == nil
	if nothing || (found && v1alpha1.Mode(namespace.Labels[v1alpha1.LabelMode]) != v1alpha1.ModeEnforce) {
		return nil, want, nil
	}
	s.namespaces = b.namespaces.of(s.team)
	return s, want, err
}

// specOf is the team's part of the quota configuration, nil where it has no ledger.
func (b *books) specOf(team string) *v1alpha1.QuotaLedgerSpec {
	if team == "" {
		return nil
	}
	if ledger := b.ledgers.Latest(team); ledger != nil {
		return &ledger.Spec
	}
	return nil
}

// demandOf is what the pod asks for, with an error for what cannot be told.
func (b *books) demandOf(pod *corev1.Pod, spec *v1alpha1.QuotaLedgerSpec) (holding, error) {
	var known quota.Classes
	if spec != nil {
		known = spec.Classes
	}
	demands, err := accelerator.DemandOf(pod, b.objects, known)
	return holding{namespace: pod.Namespace, counts: accelerator.Counts(demands)}, err
}

// roomIn wakes the pods of the team that owns the namespace.
func (b *books) roomIn(namespace, why string) {
	if found, ok := b.namespaces.get(namespace); ok && found.Labels[v1alpha1.LabelTeam] != "" {
		b.wake(found.Labels[v1alpha1.LabelTeam], why)
	}
}

// wake has the team's parked pods looked at again, or those of all teams for "". It
// counts the change before it looks who is parked: PreEnqueue and Reserve do it the
// other way round, so that between them no pod is missed.
func (b *books) wake(team, why string) {
	b.changes.Add(1)
	pods := b.parked.of(team)
	if len(pods) == 0 {
		return
	}
	logger := klog.Background().WithName("teamquota")
	logger.V(4).Info("Looking at held pods again", "team", team, "why", why, "count", len(pods))
	b.activate(logger, pods)
}
