package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	resourcelisters "k8s.io/client-go/listers/resource/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"wastenot.dev/internal/accelerator"
)

// byNode indexes ResourceSlices by node, "" for those of no single node.
const byNode = "node"

// objects is what the webhook knows of the cluster. DRA objects are watched where the
// API server serves them. What the cache does not have yet is asked for.
type objects struct {
	client     kubernetes.Interface
	factory    informers.SharedInformerFactory
	nodes      corelisters.NodeLister
	namespaces corelisters.NamespaceLister

	// The rest is used once dra is true, which it is before anything is served.
	dra       bool
	claims    resourcelisters.ResourceClaimLister
	templates resourcelisters.ResourceClaimTemplateLister
	classes   resourcelisters.DeviceClassLister
	slices    cache.Indexer
}

func newObjects(client kubernetes.Interface) *objects {
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(strip))
	return &objects{
		client: client, factory: factory,
		nodes: factory.Core().V1().Nodes().Lister(), namespaces: factory.Core().V1().Namespaces().Lister(),
	}
}

// strip drops what nobody here reads, which on nodes is most of it.
func strip(object any) (any, error) {
	if accessor, ok := object.(metav1.ObjectMetaAccessor); ok {
		accessor.GetObjectMeta().SetManagedFields(nil)
	}
	if node, ok := object.(*corev1.Node); ok {
		node.Annotations = nil
		node.Status = corev1.NodeStatus{Capacity: node.Status.Capacity, Allocatable: node.Status.Allocatable}
	}
	return object, nil
}

// watchDRA adds the objects of dynamic resource allocation.
func (o *objects) watchDRA() error {
	resource := o.factory.Resource().V1()
	o.claims, o.templates, o.classes = resource.ResourceClaims().Lister(), resource.ResourceClaimTemplates().Lister(), resource.DeviceClasses().Lister()
	informer := resource.ResourceSlices().Informer()
	if err := informer.AddIndexers(cache.Indexers{byNode: func(object any) ([]string, error) {
		slice, ok := object.(*resourceapi.ResourceSlice)
		if !ok {
			return nil, nil
		}
		if slice.Spec.NodeName != nil {
			return []string{*slice.Spec.NodeName}, nil
		}
		return []string{""}, nil
	}}); err != nil {
		return fmt.Errorf("indexing resource slices: %w", err)
	}
	o.slices, o.dra = informer.GetIndexer(), true
	return nil
}

// servesDRA asks until the API server says whether it serves DRA.
func (o *objects) servesDRA(ctx context.Context) (bool, error) {
	serves := false
	err := wait.PollUntilContextCancel(ctx, 2*time.Second, true, func(ctx context.Context) (bool, error) {
		_, err := o.client.Discovery().ServerResourcesForGroupVersion(resourceapi.SchemeGroupVersion.String())
		switch {
		case err == nil:
			serves = true
			return true, nil
		case apierrors.IsNotFound(err):
			return true, nil
		default:
			klog.FromContext(ctx).Error(err, "Asking whether the API server serves dynamic resource allocation; asking again")
			return false, nil
		}
	})
	return serves, err
}

// startObjects begins to watch.
func (s *service) startObjects(ctx context.Context) error {
	serves, err := s.objects.servesDRA(ctx)
	if err != nil {
		return fmt.Errorf("asking what the API server serves: %w", err)
	}
	if serves {
		if err := s.objects.watchDRA(); err != nil {
			return err
		}
	}
	klog.FromContext(ctx).Info("Reading the cluster", "dynamicResourceAllocation", serves)
	s.objects.factory.StartWithContext(ctx)
	s.background("object cache", func() error {
		<-ctx.Done()
		s.objects.factory.Shutdown()
		return nil
	})
	if err := s.objects.factory.WaitForCacheSyncWithContext(ctx).AsError(); err != nil {
		return fmt.Errorf("reading the cluster: %w", err)
	}
	return nil
}

// Namespace returns the namespace.
func (o *objects) Namespace(ctx context.Context, name string) (*corev1.Namespace, error) {
	namespace, err := o.namespaces.Get(name)
	if apierrors.IsNotFound(err) {
		namespace, err = o.client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
	}
	if err != nil {
		return nil, fmt.Errorf("reading namespace %s: %w", name, err)
	}
	return namespace, nil
}

// Nodes returns all nodes.
func (o *objects) Nodes() []*corev1.Node {
	nodes, err := o.nodes.List(labels.Everything())
	if err != nil {
		return nil // A list of the cache does not fail.
	}
	return nodes
}

// SlicesOf returns the node's slices, with "" those of no single node.
func (o *objects) SlicesOf(node string) []*resourceapi.ResourceSlice {
	if !o.dra {
		return nil
	}
	found, err := o.slices.ByIndex(byNode, node)
	if err != nil {
		return nil // The index is there.
	}
	slices := make([]*resourceapi.ResourceSlice, 0, len(found))
	for _, object := range found {
		if slice, ok := object.(*resourceapi.ResourceSlice); ok {
			slices = append(slices, slice)
		}
	}
	return slices
}

// Classes returns all DeviceClasses.
func (o *objects) Classes() []*resourceapi.DeviceClass {
	if !o.dra {
		return nil
	}
	classes, err := o.classes.List(labels.Everything())
	if err != nil {
		return nil // A list of the cache does not fail.
	}
	return classes
}

// Claims finds what claims refer to, for as long as ctx lasts.
func (o *objects) Claims(ctx context.Context) accelerator.Objects {
	return claims{objects: o, ctx: ctx}
}

var errNoDRA = errors.New("the API server does not serve dynamic resource allocation")

// claims finds claims in the cache and, with a context, then at the API server. One that
// was created a moment before its pod may not be in the cache yet.
type claims struct {
	*objects
	ctx context.Context
}

// liveTimeout bounds one question: a count of pods asks without a deadline.
const liveTimeout = time.Second

func find[T any](c claims, cached func() (T, error), live func(context.Context) (T, error)) (T, error) {
	var none T
	if !c.dra {
		return none, errNoDRA
	}
	found, err := cached()
	if c.ctx == nil || !apierrors.IsNotFound(err) {
		return found, err
	}
	ctx, cancel := context.WithTimeout(c.ctx, liveTimeout)
	defer cancel()
	return live(ctx)
}

// Claim returns a ResourceClaim.
func (c claims) Claim(namespace, name string) (*resourceapi.ResourceClaim, error) {
	return find(c, func() (*resourceapi.ResourceClaim, error) {
		return c.objects.claims.ResourceClaims(namespace).Get(name)
	},
		func(ctx context.Context) (*resourceapi.ResourceClaim, error) {
			return c.client.ResourceV1().ResourceClaims(namespace).Get(ctx, name, metav1.GetOptions{})
		})
}

// Template returns a ResourceClaimTemplate.
func (c claims) Template(namespace, name string) (*resourceapi.ResourceClaimTemplate, error) {
	return find(c, func() (*resourceapi.ResourceClaimTemplate, error) {
		return c.templates.ResourceClaimTemplates(namespace).Get(name)
	}, func(ctx context.Context) (*resourceapi.ResourceClaimTemplate, error) {
		return c.client.ResourceV1().ResourceClaimTemplates(namespace).Get(ctx, name, metav1.GetOptions{})
	})
}

// Class returns a DeviceClass.
func (c claims) Class(name string) (*resourceapi.DeviceClass, error) {
	return find(c, func() (*resourceapi.DeviceClass, error) { return c.classes.Get(name) },
		func(ctx context.Context) (*resourceapi.DeviceClass, error) {
			return c.client.ResourceV1().DeviceClasses().Get(ctx, name, metav1.GetOptions{})
		})
}
