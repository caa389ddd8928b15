package reconcile

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/clock"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/quota"
	"wastenot.dev/quota/internal/apiserver"
	"wastenot.dev/quota/store"
)

const gpu = "nvidia.com/gpu"

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// cluster is an API server with team vision's two namespaces and another's, and a
// controller.
type cluster struct {
	t          *testing.T
	client     *fake.Clientset
	dynamic    *dynamicfake.FakeDynamicClient
	ledgers    *store.Store
	controller *Controller
	config     atomic.Pointer[quota.Config]

	mu  sync.Mutex
	log []string
}

func newCluster(t *testing.T, clk clock.WithTicker) *cluster {
	t.Helper()
	dynamic, err := apiserver.New()
	if err != nil {
		t.Fatal(err)
	}
	namespace := func(name, team string) runtime.Object {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			v1alpha1.LabelTeam: team, v1alpha1.LabelMode: string(v1alpha1.ModeEnforce),
		}}}
	}
	c := &cluster{t: t, dynamic: dynamic, client: fake.NewClientset(namespace("train", "vision"), namespace("serve", "vision"), namespace("speech", "audio"))}
	c.configure("teams: [{name: vision, limits: {devices: 8}}]")
	c.ledgers, c.controller = c.replica(clk)
	record := func(action clienttesting.Action) (bool, runtime.Object, error) {
		entry := action.GetVerb() + " " + action.GetResource().Resource
		if list, ok := action.(clienttesting.ListActionImpl); ok {
			options := list.ListOptions
			entry += fmt.Sprintf(" version=%q limit=%d", options.ResourceVersion, options.Limit)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.log = append(c.log, entry)
		return false, nil, nil
	}
	c.client.PrependReactor("*", "*", record)
	c.dynamic.PrependReactor("*", "*", record)
	return c
}

// replica is another process that looks at the same API server.
func (c *cluster) replica(clk clock.WithTicker) (*store.Store, *Controller) {
	ledgers := store.New(c.dynamic)
	return ledgers, New(c.client, ledgers, c.config.Load, noObjects{}, clk)
}

func (c *cluster) configure(text string) {
	c.t.Helper()
	cfg, err := quota.Parse([]byte(text))
	if err != nil {
		c.t.Fatal(err)
	}
	c.config.Store(cfg)
}

func (c *cluster) calls() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	calls := c.log
	c.log = nil
	return calls
}

// ledger is the team's as the API server has it.
func (c *cluster) ledger(team string) *v1alpha1.QuotaLedger {
	c.t.Helper()
	ledger, err := store.New(c.dynamic).Get(c.t.Context(), team)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		c.t.Fatal(err)
	}
	return ledger
}

// count counts team vision.
func (c *cluster) count() *v1alpha1.QuotaLedger {
	c.t.Helper()
	ledger, err := c.controller.Count(c.t.Context(), "vision")
	if err != nil {
		c.t.Fatal(err)
	}
	return ledger
}

// reserve reserves devices for a pod, as another process would.
func (c *cluster) reserve(name string, devices int64) {
	c.t.Helper()
	other := store.New(c.dynamic)
	ledger, err := other.Get(c.t.Context(), "vision")
	if err != nil {
		c.t.Fatal(err)
	}
	want := quota.Want{UID: types.UID(name), Namespace: "train", Name: name, Demand: map[string]int64{gpu: devices}}
	next, verdict := quota.Admit(ledger, want, noon.Add(-time.Hour)) // By a clock that is wrong.
	if verdict.Outcome != quota.Fits {
		c.t.Fatalf("got %s", verdict.Outcome)
	}
	if _, err := other.Update(c.t.Context(), next); err != nil {
		c.t.Fatal(err)
	}
}

func (c *cluster) create(pods ...*corev1.Pod) {
	c.t.Helper()
	for _, pod := range pods {
		if _, err := c.client.CoreV1().Pods(pod.Namespace).Create(c.t.Context(), pod, metav1.CreateOptions{}); err != nil {
			c.t.Fatal(err)
		}
	}
}

func newPod(namespace, name string, devices int64, change ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(name)}}
	pod.Spec.Containers = []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("1"),
	}}}}
	if devices > 0 {
		pod.Spec.Containers[0].Resources.Requests[gpu] = *resource.NewQuantity(devices, resource.DecimalSI)
	}
	for _, apply := range change {
		apply(pod)
	}
	return pod
}

func inPhase(phase corev1.PodPhase) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Status.Phase = phase }
}

func bound(pod *corev1.Pod) { pod.Spec.NodeName = "node-1" }

func deleted(pod *corev1.Pod) {
	pod.DeletionTimestamp = &metav1.Time{Time: noon}
	pod.Finalizers = []string{"example.com/wait"}
}

// claiming has the pod claim a device that cannot be found.
func claiming(pod *corev1.Pod) {
	name := "claim"
	pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "device", ResourceClaimName: &name}}
}

// noObjects finds nothing.
type noObjects struct{}

func (noObjects) Claim(_, name string) (*resourceapi.ResourceClaim, error) {
	return nil, apierrors.NewNotFound(resourceapi.Resource("resourceclaims"), name)
}

func (noObjects) Template(_, name string) (*resourceapi.ResourceClaimTemplate, error) {
	return nil, apierrors.NewNotFound(resourceapi.Resource("resourceclaimtemplates"), name)
}

func (noObjects) Class(name string) (*resourceapi.DeviceClass, error) {
	return nil, apierrors.NewNotFound(resourceapi.Resource("deviceclasses"), name)
}

// run runs the controller and its store until stop, which waits for both.
func (c *cluster) run() (stop func()) {
	c.t.Helper()
	ctx, cancel := context.WithCancel(c.t.Context())
	var group sync.WaitGroup
	for _, run := range []func(context.Context) error{c.ledgers.Run, c.controller.Run} {
		group.Go(func() {
			if err := run(ctx); err != nil {
				c.t.Error(err)
			}
		})
	}
	return func() {
		cancel()
		group.Wait()
	}
}
