package app

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	crcache "sigs.k8s.io/controller-runtime/pkg/cache"

	"wastenot.dev/telemetry/source/dcgm"
)

// discovery keeps the runner's targets in line with the exporters' pods.
type discovery struct {
	static []dcgm.Target
	set    func([]dcgm.Target)
	// namespaces are those whose pods are believed: whoever may run pods there may
	// have any device quarantined.
	namespaces []string
	factories  []informers.SharedInformerFactory
	stores     []cache.Store
	// changed holds a token when pods may have changed.
	changed chan struct{}
}

// newDiscovery watches the pods that any selector chooses, once run. set is called
// with the whole set of targets whenever it may have changed.
func newDiscovery(client kubernetes.Interface, config *config, set func([]dcgm.Target)) (*discovery, error) {
	d := &discovery{static: config.targets, set: set, namespaces: config.namespaces, changed: make(chan struct{}, 1)}
	for _, selector := range config.selectors {
		factory := informers.NewSharedInformerFactoryWithOptions(client, 0,
			informers.WithTransform(crcache.TransformStripManagedFields()),
			informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = selector.String() }))
		informer := factory.Core().V1().Pods().Informer()
		if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(any) { mark(d.changed) },
			UpdateFunc: func(_, _ any) { mark(d.changed) },
			DeleteFunc: func(any) { mark(d.changed) },
		}); err != nil {
			return nil, fmt.Errorf("watching pods %s: %w", selector, err)
		}
		d.stores = append(d.stores, informer.GetStore())
		d.factories = append(d.factories, factory)
	}
	return d, nil
}

// start begins to watch; run must follow.
func (d *discovery) start(ctx context.Context) {
	for _, factory := range d.factories {
		factory.StartWithContext(ctx)
	}
}

// run follows the pods until ctx ends, and returns when the watches have ended.
func (d *discovery) run(ctx context.Context) {
	for _, factory := range d.factories {
		defer factory.Shutdown()
	}
	for {
		d.set(d.targets())
		select {
		case <-ctx.Done():
			return
		case <-d.changed:
		}
	}
}

// awaitPods waits until the pods were listed once.
func (d *discovery) awaitPods(ctx context.Context) error {
	for _, factory := range d.factories {
		if err := factory.WaitForCacheSyncWithContext(ctx).AsError(); err != nil {
			return fmt.Errorf("listing exporter pods: %w", err)
		}
	}
	return nil
}

func (d *discovery) targets() []dcgm.Target {
	targets := append([]dcgm.Target{}, d.static...)
	for _, store := range d.stores {
		var pods []*corev1.Pod
		for _, object := range store.List() {
			if pod, ok := object.(*corev1.Pod); ok && slices.Contains(d.namespaces, pod.Namespace) {
				pods = append(pods, pod)
			}
		}
		targets = append(targets, dcgm.TargetsFromPods(pods)...)
	}
	return targets
}

// mark leaves a token for whoever waits; one is enough.
func mark(changed chan<- struct{}) {
	select {
	case changed <- struct{}{}:
	default:
	}
}
