package quarantine

import (
	"context"
	"fmt"
	"reflect"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"wastenot.dev/api/v1alpha1"
)

// Informer keeps a Set current from the API server.
type Informer struct {
	informer cache.SharedIndexInformer
	current  atomic.Pointer[Set]
	onChange []func(old, current *Set)
}

// NewInformer returns an informer that does nothing until Run.
func NewInformer(client dynamic.Interface) *Informer {
	factory := dynamicinformer.NewDynamicSharedInformerFactory(client, 0)
	i := &Informer{informer: factory.ForResource(v1alpha1.QuarantineResource).Informer()}
	i.current.Store(NewSet(nil, 0))
	return i
}

// OnChange has call run after each new set, on one goroutine, also once after the
// first list. It must be called before Run.
func (i *Informer) OnChange(call func(old, current *Set)) { i.onChange = append(i.onChange, call) }

// Current returns the set as last heard.
func (i *Informer) Current() *Set { return i.current.Load() }

// Synced tells whether the first list was read. Until then Current is empty
// because nothing is known, not because nothing is quarantined.
func (i *Informer) Synced() bool { return i.Current().Version() > 0 }

// Run watches until ctx ends and waits for what it started. Where the API server
// does not serve quarantines it keeps trying and says so.
func (i *Informer) Run(ctx context.Context) error {
	logger := klog.FromContext(ctx).WithName("quarantine")
	dirty := make(chan struct{}, 1)
	mark := func() {
		select {
		case dirty <- struct{}{}:
		default:
		}
	}
	if _, err := i.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { mark() },
		UpdateFunc: func(_, _ any) { mark() },
		DeleteFunc: func(any) { mark() },
	}); err != nil {
		return fmt.Errorf("watching quarantines: %w", err)
	}
	if err := i.informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, r *cache.Reflector, err error) {
		if !i.Synced() {
			logger.Error(err, "Reading quarantines; no accelerator pod is scheduled before. Is the CRD installed, and may this service account list it?")
			return
		}
		cache.DefaultWatchErrorHandler(ctx, r, err)
	}); err != nil {
		return fmt.Errorf("watching quarantines: %w", err)
	}

	done := make(chan struct{})
	go func() {
		defer close(done)
		i.informer.RunWithContext(ctx)
	}()
	defer func() { <-done }()

	if !cache.WaitForCacheSync(ctx.Done(), i.informer.HasSynced) {
		return ctx.Err()
	}
	i.rebuild(logger)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-dirty:
			i.rebuild(logger)
		}
	}
}

// rebuild publishes a new set when it differs. Quarantines are few, so starting
// over costs less than keeping an index by hand.
func (i *Informer) rebuild(logger klog.Logger) {
	var quarantines []*v1alpha1.Quarantine
	for _, object := range i.informer.GetStore().List() {
		object, ok := object.(*unstructured.Unstructured)
		if !ok {
			continue
		}
		q := &v1alpha1.Quarantine{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, q); err != nil {
			logger.Error(err, "Reading a quarantine, which is left out", "quarantine", klog.KObj(object))
			continue
		}
		quarantines = append(quarantines, q)
	}
	old := i.current.Load()
	next := NewSet(quarantines, old.version+1)
	if i.Synced() && reflect.DeepEqual(old.byNode, next.byNode) {
		return
	}
	i.current.Store(next)
	logger.V(2).Info("Quarantines changed", "count", len(quarantines))
	for _, call := range i.onChange {
		call(old, next)
	}
}
