package app

import (
	"context"
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"

	"wastenot.dev/api/v1alpha1"
)

// startLeading has this replica stand for the lead, again whenever it has lost it. Who
// leads keeps the ledgers; whoever loses the lead goes on answering.
func (s *service) startLeading(ctx context.Context) {
	terms := make(chan context.Context)
	s.background("leader election", func() error { return s.stand(ctx, terms) })
	s.background("quota controller", func() error {
		for {
			select {
			case <-ctx.Done():
				return nil
			case term := <-terms:
				s.lead(term) //nolint:contextcheck // a term is a context of ctx
			}
		}
	})
}

// stand takes part in elections until ctx ends. Each term is sent when it begins; its
// context ends with it.
func (s *service) stand(ctx context.Context, terms chan<- context.Context) error {
	lock := &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: s.options.Namespace, Name: s.options.ServiceName},
		Client:     s.client.CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: identity()},
	}
	for ctx.Err() == nil {
		elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
			Lock: lock, Name: s.options.ServiceName, ReleaseOnCancel: true,
			LeaseDuration: s.options.LeaderElection.LeaseDuration, RenewDeadline: s.options.LeaderElection.RenewDeadline,
			RetryPeriod: s.options.LeaderElection.RetryPeriod,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(term context.Context) {
					select {
					case terms <- term:
					case <-term.Done():
					}
				},
				OnStoppedLeading: func() {},
			},
		})
		if err != nil {
			return fmt.Errorf("preparing an election: %w", err)
		}
		elector.Run(ctx)
	}
	return nil
}

// identity tells replicas apart, also two that ran under one name.
func identity() string {
	host, err := os.Hostname()
	if err != nil {
		host = userAgent
	}
	return host + "_" + string(uuid.NewUUID())
}

// lead keeps the ledgers for one term.
func (s *service) lead(term context.Context) {
	logger := klog.FromContext(term)
	logger.Info("This replica keeps the quota ledgers now")
	s.leading.Store(true)
	defer s.leading.Store(false)
	pods := s.watchPods(logger)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		if pods != nil {
			pods.RunWithContext(term)
		}
	}()
	if err := s.keeper.Run(term); err != nil && term.Err() == nil {
		logger.Error(err, "Keeping the quota ledgers; each admission still counts for itself")
	}
	<-term.Done()
	<-watched
	logger.Info("This replica no longer keeps the quota ledgers")
}

// watchPods has a team counted when one of its pods comes, ends or goes, and tells that
// the pod was stored. Only names and
// labels are read, of pods that bear a team and have not ended: one that ends leaves the
// list.
func (s *service) watchPods(logger klog.Logger) cache.SharedIndexInformer {
	informer := metadatainformer.NewFilteredMetadataInformer(s.metadata, corev1.SchemeGroupVersion.WithResource("pods"), metav1.NamespaceAll, 0,
		cache.Indexers{}, func(options *metav1.ListOptions) {
			options.LabelSelector = v1alpha1.LabelTeam
			options.FieldSelector = "status.phase!=" + string(corev1.PodSucceeded) + ",status.phase!=" + string(corev1.PodFailed)
		}).Informer()
	poke := func(object any) {
		if tombstone, ok := object.(cache.DeletedFinalStateUnknown); ok {
			object = tombstone.Obj
		}
		if pod, ok := object.(metav1.ObjectMetaAccessor); ok {
			s.keeper.Stored(pod.GetObjectMeta().GetUID())
			if team := pod.GetObjectMeta().GetLabels()[v1alpha1.LabelTeam]; s.configured(team) {
				s.keeper.Poke(team)
			}
		}
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: poke, DeleteFunc: poke})
	if err == nil {
		err = informer.SetTransform(func(object any) (any, error) {
			if pod, ok := object.(*metav1.PartialObjectMetadata); ok {
				pod.ObjectMeta = metav1.ObjectMeta{
					Name: pod.Name, Namespace: pod.Namespace, UID: pod.UID, ResourceVersion: pod.ResourceVersion,
					Labels: map[string]string{v1alpha1.LabelTeam: pod.Labels[v1alpha1.LabelTeam]},
				}
			}
			return object, nil
		})
	}
	if err != nil {
		logger.Error(err, "Watching pods; teams are counted by the timer alone")
		return nil
	}
	return informer
}

// configured tells whether the team exists. A pod's label can say anything.
func (s *service) configured(team string) bool {
	_, ok := s.quota.Current().Team(team)
	return ok
}
