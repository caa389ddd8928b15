package teamquota

import (
	"errors"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	"wastenot.dev/api/v1alpha1"
)

const (
	gpu = "nvidia.com/gpu"
)

// bench is the plugin over facts that a test sets.
type bench struct {
	*Plugin
	t          *testing.T
	namespaces cache.Indexer
	pods       cache.Indexer
	ledgers    *fakeLedgers
	claims     *fakeClaims
	clock      *clocktesting.FakeClock

	mu        sync.Mutex
	activated []string
	events    []string
}

// fakeLedgers are the ledgers as last heard.
type fakeLedgers struct {
	mu      sync.Mutex
	ledgers map[string]*v1alpha1.QuotaLedger
	// hook is called whenever one is read.
	hook func()
}

func (f *fakeLedgers) Latest(team string) *v1alpha1.QuotaLedger {
	if f.hook != nil {
		f.hook()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ledgers[team]
}

func (f *fakeLedgers) set(team string, spec v1alpha1.QuotaLedgerSpec) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ledgers[team] = &v1alpha1.QuotaLedger{ObjectMeta: metav1.ObjectMeta{Name: team}, Spec: spec}
}

// fakeClaims holds claims for two GPUs each.
type fakeClaims struct {
	mu    sync.Mutex
	names map[string]bool
}

func (f *fakeClaims) add(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.names[name] = true
}

func (f *fakeClaims) remove(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.names, name)
}

func (f *fakeClaims) Claim(_, name string) (*resourceapi.ResourceClaim, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.names[name] {
		return nil, errAbsent
	}
	return &resourceapi.ResourceClaim{Spec: resourceapi.ResourceClaimSpec{Devices: resourceapi.DeviceClaim{Requests: []resourceapi.DeviceRequest{{
		Name: "r", Exactly: &resourceapi.ExactDeviceRequest{DeviceClassName: "gpu.nvidia.com", Count: 2},
	}}}}}, nil
}

func (*fakeClaims) Template(string, string) (*resourceapi.ResourceClaimTemplate, error) {
	return nil, errAbsent
}

func (*fakeClaims) Class(string) (*resourceapi.DeviceClass, error) {
	return &resourceapi.DeviceClass{}, nil
}

// fakeInformer keeps its handler.
type fakeInformer struct {
	cache.SharedIndexInformer
	handler cache.ResourceEventHandler
}

func (f *fakeInformer) AddEventHandler(handler cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	f.handler = handler
	return nil, nil
}

func quantity(text string) resource.Quantity { return resource.MustParse(text) }

var errAbsent = errors.New("not found")

// newBench has namespaces a and b of team red and c of team blue, which enforce, and
// watching of team red, which does not. Red may hold 3 GPUs.
func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{
		t: t, namespaces: cache.NewIndexer(cache.MetaNamespaceKeyFunc, teamIndexer), clock: clocktesting.NewFakeClock(time.Unix(0, 0)),
		pods:    cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}),
		ledgers: &fakeLedgers{ledgers: map[string]*v1alpha1.QuotaLedger{}}, claims: &fakeClaims{names: map[string]bool{}},
	}
	b.Plugin = &Plugin{&books{
		ledgers: b.ledgers, namespaces: namespaceIndex{b.namespaces}, pods: corelisters.NewPodLister(b.pods), objects: b.claims, clock: b.clock,
		usage: newUsage(), parked: newParked(), doubtful: newParked(), hashes: map[string]string{}, activate: b.activate, recorder: b,
	}}
	b.complete.Store(true)
	b.namespace("a", "red", v1alpha1.ModeEnforce)
	b.namespace("b", "red", v1alpha1.ModeEnforce)
	b.namespace("c", "blue", v1alpha1.ModeEnforce)
	b.namespace("watching", "red", v1alpha1.ModeObserve)
	b.limit("red", 3)
	b.limit("blue", 1)
	return b
}

func (b *bench) activate(_ klog.Logger, pods map[string]*corev1.Pod) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, pod := range pods {
		b.activated = append(b.activated, pod.Name)
	}
}

// Eventf notes the event.
func (b *bench) Eventf(regarding, _ runtime.Object, _, reason, _, _ string, _ ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.events = append(b.events, reason+" "+regarding.(*corev1.Pod).Name)
}

// woken returns how many pods were activated since the last call.
func (b *bench) woken() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	count := len(b.activated)
	b.activated = nil
	return count
}

// namespace makes or changes one, and tells the plugin.
func (b *bench) namespace(name, team string, mode v1alpha1.Mode) {
	b.t.Helper()
	labels := map[string]string{v1alpha1.LabelMode: string(mode)}
	if team != "" {
		labels[v1alpha1.LabelTeam] = team
	}
	if err := b.namespaces.Add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) limit(team string, gpus int64) {
	b.ledgers.set(team, v1alpha1.QuotaLedgerSpec{ConfigHash: "h", Limits: v1alpha1.QuotaLimits{Classes: map[string]int64{gpu: gpus}}})
}

// pod asks for GPUs.
func pod(namespace, name string, gpus int64) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(namespace + "/" + name)},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{gpu: *resource.NewQuantity(gpus, resource.DecimalSI)},
		}}}},
	}
}

// onNode is the pod as the API server shows it after its binding.
func onNode(p *corev1.Pod) *corev1.Pod {
	p = p.DeepCopy()
	p.Spec.NodeName = "n"
	return p
}

// claiming gives the pod a claim.
func claiming(p *corev1.Pod, claim string) *corev1.Pod {
	p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "c", ResourceClaimName: ptr.To(claim)}}
	return p
}
