package teamquota

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/dynamic"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/internal/accelerator"
	"wastenot.dev/quota/store"
	"wastenot.dev/scheduler/claims"
)

// ledgerSource has the teams' ledgers as last heard.
type ledgerSource interface {
	Latest(team string) *v1alpha1.QuotaLedger
}

// books is what every profile of the process knows: who holds what, who may hold how
// much, and who waits.
type books struct {
	ledgers    ledgerSource
	namespaces corelisters.NamespaceLister
	objects    accelerator.Objects
	pods       corelisters.PodLister
	usage      *usage
	parked     *parked
	// hashes is the configuration of each team's ledger when its pods were counted. Only
	// ledgerChanged uses it.
	hashes map[string]string
	// changes grows before parked pods are woken.
	changes  atomic.Uint64
	activate func(klog.Logger, map[string]*corev1.Pod)
	recorder events.EventRecorder
	// listed tells whether every bound pod was counted.
	listed func() bool

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
	b := &books{
		ledgers: ledgers, namespaces: core.Namespaces().Lister(), objects: claims.Of(handle),
		pods: core.Pods().Lister(), hashes: map[string]string{}, usage: newUsage(), parked: newParked(), activate: handle.Activate, recorder: handle.EventRecorder(),
	}
	ledgers.OnChange(b.ledgerChanged)
	pods, err := b.watchPods(core.Pods().Informer())
	if err != nil {
		return nil, err
	}
	if err := b.watchNamespaces(core.Namespaces().Informer()); err != nil {
		return nil, err
	}
	b.listed = pods.HasSynced
	registerMetrics(b)
	ctx, b.stop = context.WithCancel(ctx)
	b.running.Go(func() {
		if err := ledgers.Run(ctx); err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "Watching quota ledgers")
		}
	})
	b.running.Go(func() {
		if cache.WaitForCacheSync(ctx.Done(), pods.HasSynced) {
			b.wake("", "every pod was counted")
		}
	})
	return b, nil
}

// close ends what was started and waits for it.
func (b *books) close() {
	b.stop()
	b.running.Wait()
}

// ledgerChanged counts the bound pods again when the configuration changed, which says
// what counts, and has the team's pods looked at.
func (b *books) ledgerChanged(team string) {
	hash := ""
	if ledger := b.ledgers.Latest(team); ledger != nil {
		hash = ledger.Spec.ConfigHash
	}
	if b.hashes[team] != hash {
		b.hashes[team] = hash
		for _, namespace := range b.namespacesOf(team) {
			pods, err := b.pods.Pods(namespace).List(labels.Everything())
			if err != nil {
				continue // A lister over a cache has no errors.
			}
			for _, pod := range pods {
				b.podSeen(pod)
			}
		}
	}
	b.wake(team, "the team's ledger changed")
}

// subject is whose quota a pod is judged by.
type subject struct {
	namespace, team string
	// namespaces are all of the team's.
	namespaces []string
	// spec is nil where the team has no ledger.
	spec *v1alpha1.QuotaLedgerSpec
}

// subjectOf returns by what the pod is judged and what it asks for; nil when it asks for
// no accelerator or its namespace does not enforce. An error tells of claims that could
// not be found; what the pod asks for besides is returned with it.
func (b *books) subjectOf(pod *corev1.Pod) (*subject, holding, error) {
	namespace, err := b.namespaces.Get(pod.Namespace)
	if err != nil {
		namespace = &corev1.Namespace{} // It is being deleted: nothing is enforced.
	}
	s := &subject{namespace: pod.Namespace, team: namespace.Labels[v1alpha1.LabelTeam]}
	if ledger := b.ledgers.Latest(s.team); s.team != "" && ledger != nil {
		s.spec = &ledger.Spec
	}
	want, err := b.demandOf(pod, s.spec)
	nothing := len(want.counts) == 0 && err == nil
	if nothing || v1alpha1.Mode(namespace.Labels[v1alpha1.LabelMode]) != v1alpha1.ModeEnforce {
		return nil, want, nil
	}
	s.namespaces = b.namespacesOf(s.team)
	return s, want, err
}

func (b *books) demandOf(pod *corev1.Pod, spec *v1alpha1.QuotaLedgerSpec) (holding, error) {
	demands, err := accelerator.DemandOf(pod, b.objects, listedIn{spec})
	return holding{namespace: pod.Namespace, counts: accelerator.Counts(demands)}, err
}

// listedIn knows the DeviceClasses that the configuration names.
type listedIn struct{ spec *v1alpha1.QuotaLedgerSpec }

// Known tells whether the class is listed.
func (l listedIn) Known(class string) bool {
	if l.spec == nil {
		return false
	}
	_, listed := l.spec.Classes[class]
	return listed
}

func (b *books) namespacesOf(team string) []string {
	if team == "" {
		return nil
	}
	list, err := b.namespaces.List(labels.SelectorFromSet(labels.Set{v1alpha1.LabelTeam: team}))
	if err != nil {
		return nil // A lister over a cache has no errors.
	}
	names := make([]string, len(list))
	for i, namespace := range list {
		names[i] = namespace.Name
	}
	return names
}

// roomIn wakes the pods of the team that owns the namespace.
func (b *books) roomIn(namespace, why string) {
	if found, err := b.namespaces.Get(namespace); err == nil && found.Labels[v1alpha1.LabelTeam] != "" {
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
