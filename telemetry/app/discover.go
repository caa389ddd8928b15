package app

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	crcache "sigs.k8s.io/controller-runtime/pkg/cache"

	"wastenot.dev/telemetry/source/dcgm"
)

// discovery keeps the runner's targets in line with the exporters' pods.
type discovery struct {
	static   []dcgm.Target
	stores   []cache.Store
	set      func([]dcgm.Target)
	mu       sync.Mutex
	factorys []informers.SharedInformerFactory
}

// newDiscovery watches the pods that any selector chooses. set is called with the
// whole set of targets whenever it may have changed.
func newDiscovery(client kubernetes.Interface, static []dcgm.Target, selectors []labels.Selector, set func([]dcgm.Target)) (*discovery, error) {
	d := &discovery{static: static, set: set}
	for _, selector := range selectors {
		factory := informers.NewSharedInformerFactoryWithOptions(client, 0,
			informers.WithTransform(crcache.TransformStripManagedFields()),
			informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = selector.String() }))
		informer := factory.Core().V1().Pods().Informer()
		if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(any) { d.update() },
			UpdateFunc: func(_, _ any) { d.update() },
			DeleteFunc: func(any) { d.update() },
		}); err != nil {
			return nil, fmt.Errorf("watching pods %s: %w", selector, err)
		}
		d.stores = append(d.stores, informer.GetStore())
		d.factorys = append(d.factorys, factory)
	}
	return d, nil
}

// start begins watching and waits for the first lists.
func (d *discovery) start(ctx context.Context) error {
	for _, factory := range d.factorys {
		factory.StartWithContext(ctx)
	}
	for _, factory := range d.factorys {
		if err := factory.WaitForCacheSyncWithContext(ctx).AsError(); err != nil {
			return fmt.Errorf("listing exporter pods: %w", err)
		}
	}
	d.update()
	return nil
}

// shutdown waits for the watches to end; their context must have ended.
func (d *discovery) shutdown() {
	for _, factory := range d.factorys {
		factory.Shutdown()
	}
}

func (d *discovery) update() {
	d.mu.Lock()
	defer d.mu.Unlock()
	targets := append([]dcgm.Target{}, d.static...)
	for _, store := range d.stores {
		var pods []*corev1.Pod
		for _, object := range store.List() {
			if pod, ok := object.(*corev1.Pod); ok {
				pods = append(pods, pod)
			}
		}
		targets = append(targets, dcgm.TargetsFromPods(pods)...)
	}
	d.set(targets)
}
