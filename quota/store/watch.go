package store

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// OnChange has call run for each team whose ledger was created, changed or deleted by
// anybody, on one goroutine that must not be kept waiting. It must be called before Run.
func (s *Store) OnChange(call func(team string)) { s.onChange = append(s.onChange, call) }

// Synced tells whether every ledger that existed when Run began is known. Until then
// Latest may have none because nothing was read.
func (s *Store) Synced() bool { return s.synced.Load() }

// Run watches until ctx ends and waits for what it started. Where the API server does
// not serve ledgers it keeps trying and says so.
func (s *Store) Run(ctx context.Context) error {
	logger := klog.FromContext(ctx).WithName("quota")
	registration, err := s.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { s.heard(logger, object) },
		UpdateFunc: func(_, object any) { s.heard(logger, object) },
		DeleteFunc: func(object any) { s.gone(logger, object) },
	})
	if err != nil {
		return fmt.Errorf("watching ledgers: %w", err)
	}
	if err := s.informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, r *cache.Reflector, err error) {
		if !s.Synced() {
			logger.Error(err, "Reading quota ledgers; trying again. Is the CRD installed, and may this service account list it?")
			return
		}
		cache.DefaultWatchErrorHandler(ctx, r, err)
	}); err != nil {
		return fmt.Errorf("watching ledgers: %w", err)
	}

	done := make(chan struct{})
	go func() {
		defer close(done)
		s.informer.RunWithContext(ctx)
	}()
	defer func() { <-done }()

	if cache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
		s.synced.Store(true)
		logger.V(2).Info("Quota ledgers read", "count", len(s.Teams()))
	}
	<-ctx.Done()
	return nil
}

func (s *Store) heard(logger klog.Logger, object any) {
	u, ok := object.(*unstructured.Unstructured)
	if !ok {
		return
	}
	if _, err := s.decodeAndLearn(u); err != nil {
		logger.Error(err, "Reading a ledger; what was known of it stays", "ledger", klog.KObj(u))
		return
	}
	s.changed(u.GetName())
}

func (s *Store) gone(logger klog.Logger, object any) {
	if last, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = last.Obj
	}
	u, ok := object.(*unstructured.Unstructured)
	if !ok {
		return
	}
	ledger, err := decode(u)
	if err != nil {
		logger.Error(err, "Reading a deleted ledger", "ledger", klog.KObj(u))
		return
	}
	s.forget(ledger)
	s.changed(u.GetName())
}

func (s *Store) changed(team string) {
	for _, call := range s.onChange {
		call(team)
	}
}
