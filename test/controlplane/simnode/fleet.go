package simnode

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
)

// defaultWorkers keeps an API server on two cores busy without queueing in it.
const defaultWorkers = 8

// Options of a fleet. The zero value is usable.
type Options struct {
	// Seed of all random choices. Each node has a sequence of its own, so what
	// happens on one node does not depend on the others.
	Seed uint64
	// Workers that write to the API at the same time; 0 means 8.
	Workers int
	// Prefer stands for the GetPreferredAllocation of the device plugin. Nil leaves
	// the choice to the kubelet, which is random.
	Prefer Preference
	// Adopt is the record of an earlier fleet over the same nodes (its Assignments),
	// which plays the kubelet's checkpoint file. Running pods that it does not name
	// are adopted with the ids in their status.
	Adopt []Assignment
	// OnChange is told the name of a node after its holders or the health of its
	// devices have changed. It is called by several goroutines, with no lock held.
	OnChange func(node string)
	// Clock paces heartbeats and ends pods; nil is the real one.
	Clock clock.WithTicker
}

// Fleet runs simulated nodes. Its methods may be called concurrently.
type Fleet struct {
	client   kubernetes.Interface
	informer cache.SharedIndexInformer
	queue    workqueue.TypedRateLimitingInterface[item]
	clock    clock.WithTicker
	onChange func(node string)
	workers  int
	version  string // of the API server, which the nodes claim for themselves

	cancel context.CancelFunc
	done   sync.WaitGroup

	mu      sync.Mutex // guards what follows; never held over I/O
	nodes   map[string]*member
	pods    map[types.UID]*tracked
	history []*Assignment
	nextIP  uint32
}

// member is one node of the fleet.
type member struct {
	*inventory
	address string      // InternalIP; nothing listens there
	ready   metav1.Time // when it first said so
}

// item is a unit of work in the queue: one object that may have to be written.
type item struct {
	kind kind
	key  string // pod UID or node name
}

type kind int

const (
	podItem kind = iota
	nodeItem
	leaseItem
)

// Start registers the nodes and returns when the control plane considers all of
// them schedulable, which takes a node lifecycle controller. The fleet works
// until ctx ends or Stop; the nodes and their pods then stay as a crashed kubelet
// leaves them, and a new fleet over the same nodes takes them up again.
func Start(ctx context.Context, cfg *rest.Config, nodes []Node, opts Options) (*Fleet, error) {
	if err := validate(nodes); err != nil {
		return nil, fmt.Errorf("validating the nodes: %w", err)
	}
	client, err := newClient(cfg)
	if err != nil {
		return nil, err
	}
	version, err := client.Discovery().ServerVersion()
	if err != nil {
		return nil, fmt.Errorf("reading the server version: %w", err)
	}
	f := newFleet(client, nodes, opts)
	f.version = version.GitVersion

	ctx, f.cancel = context.WithCancel(ctx)
	if err := f.start(ctx, nodes, opts.Adopt); err != nil {
		f.Stop()
		return nil, err
	}
	return f, nil
}

// Stop ends all goroutines of the fleet and waits for them.
func (f *Fleet) Stop() {
	f.cancel()
	f.queue.ShutDown()
	f.done.Wait()
}

func newFleet(client kubernetes.Interface, nodes []Node, opts Options) *Fleet {
	f := &Fleet{
		client: client, clock: opts.Clock, onChange: opts.OnChange, workers: opts.Workers,
		nodes: make(map[string]*member, len(nodes)),
		pods:  map[types.UID]*tracked{},
	}
	if f.clock == nil {
		f.clock = clock.RealClock{}
	}
	if f.workers == 0 {
		f.workers = defaultWorkers
	}
	if f.onChange == nil {
		f.onChange = func(string) {}
	}
	f.queue = workqueue.NewTypedRateLimitingQueueWithConfig(
		workqueue.DefaultTypedControllerRateLimiter[item](),
		workqueue.TypedRateLimitingQueueConfig[item]{Clock: f.clock})
	for i, node := range nodes {
		random := rand.New(rand.NewPCG(opts.Seed, hash(node.Name)))
		f.nodes[node.Name] = &member{
			inventory: newInventory(node, random, opts.Prefer),
			address:   fmt.Sprintf("10.64.%d.%d", i/250, i%250+1),
		}
	}
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(stripManagedFields),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) {
			o.FieldSelector = fields.OneTermNotEqualSelector("spec.nodeName", "").String()
		}))
	f.informer = factory.Core().V1().Pods().Informer()
	return f
}

// start leaves goroutines behind on error; Stop ends them.
func (f *Fleet) start(ctx context.Context, nodes []Node, adopt []Assignment) error {
	f.done.Go(func() { f.informer.RunWithContext(ctx) })
	if !cache.WaitForCacheSync(ctx.Done(), f.informer.HasSynced) {
		return fmt.Errorf("listing pods: %w", context.Cause(ctx))
	}
	if err := f.takeUp(adopt); err != nil {
		return err
	}
	for range f.workers {
		f.done.Go(func() {
			for f.work(ctx) {
			}
		})
	}
	// The queue must not outlive ctx when nobody calls Stop.
	f.done.Go(func() { <-ctx.Done(); f.queue.ShutDown() })
	if err := f.register(ctx, nodes); err != nil {
		return err
	}
	_, err := f.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { f.observe(object.(*corev1.Pod)) },
		UpdateFunc: func(_, object any) { f.observe(object.(*corev1.Pod)) },
		DeleteFunc: f.forget,
	})
	if err != nil {
		return fmt.Errorf("watching pods: %w", err)
	}
	return nil
}

func newClient(cfg *rest.Config) (kubernetes.Interface, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.QPS = -1 // a fleet is many kubelets, each with a budget of its own
	cfg.UserAgent = "wastenot-simnode"
	cfg.ContentType = runtime.ContentTypeProtobuf
	cfg.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	return client, nil
}

// stripManagedFields halves what the informer keeps of a pod.
func stripManagedFields(object any) (any, error) {
	if pod, ok := object.(*corev1.Pod); ok {
		pod.ManagedFields = nil
	}
	return object, nil
}

func hash(name string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // never fails
	return h.Sum64()
}
