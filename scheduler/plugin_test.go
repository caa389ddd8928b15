package scheduler

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
)

// fakeHandle is what the plugin uses of kube-scheduler.
type fakeHandle struct {
	fwk.Handle

	config  *rest.Config
	factory informers.SharedInformerFactory
	queue   fakeQueue
}

// SharedDRAManager tells that DRA is off.
func (*fakeHandle) SharedDRAManager() fwk.SharedDRAManager { return nil }

// KubeConfig points to an API server that serves nothing.
func (h *fakeHandle) KubeConfig() *rest.Config { return h.config }

// SharedInformerFactory has no objects.
func (h *fakeHandle) SharedInformerFactory() informers.SharedInformerFactory { return h.factory }

// EventRecorder keeps a few.
func (h *fakeHandle) EventRecorder() events.EventRecorderLogger { return events.NewFakeRecorder(10) }

// Activate notes the pods.
func (h *fakeHandle) Activate(logger klog.Logger, pods map[string]*corev1.Pod) {
	h.queue.activate(logger, pods)
}

// GetWaitingPod knows none.
func (h *fakeHandle) GetWaitingPod(types.UID) fwk.WaitingPod { return nil }

// newHandle stands for an API server; asked is closed when quarantines were asked for.
func newHandle(t *testing.T) (h *fakeHandle, asked chan struct{}) {
	t.Helper()
	asked = make(chan struct{})
	var once sync.Once
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		once.Do(func() { close(asked) })
		w.WriteHeader(http.StatusNotFound)
	}))
	t.Cleanup(server.Close)
	return &fakeHandle{config: &rest.Config{Host: server.URL}, factory: informers.NewSharedInformerFactory(fake.NewClientset(), 0)}, asked
}

func TestProfilesShareOneView(t *testing.T) {
	handle, asked := newHandle(t)
	factory := &Factory{}
	build := func(args runtime.Object) (*Plugin, error) {
		plugin, err := factory.New(t.Context(), args, handle)
		if err != nil {
			return nil, err
		}
		return plugin.(*Plugin), nil
	}
	if _, err := build(raw(`{"telemetri":{}}`)); err == nil || !strings.Contains(err.Error(), "telemetri") {
		t.Errorf("error %v, want one that names the field", err)
	}
	first, err := build(raw(`{"telemetry":{"staleAfter":"20s"}}`))
	if err != nil {
		t.Fatal(err)
	}
	second, err := build(raw("telemetry:\n  staleAfter: 20s\n"))
	if err != nil {
		t.Fatal(err)
	}
	if first.facts != second.facts {
		t.Error("two profiles have two views")
	}
	if _, err := build(nil); err == nil || !strings.Contains(err.Error(), "two profiles") {
		t.Errorf("error %v, want one about two profiles", err)
	}

	<-asked // It runs.
	if !first.facts.stale() {
		t.Error("without telemetry the fleet is not stale")
	}
	_, status := first.PreFilter(t.Context(), &fakeCycle{}, gpuPod("p"), nil)
	if status.Message() != notReady {
		t.Errorf("PreFilter says %v before quarantines were read", status)
	}
	for _, plugin := range []*Plugin{first, second} {
		if err := plugin.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestCloseWaitsForWhatRuns(t *testing.T) {
	ended := false
	f := &facts{run: []func(context.Context){func(ctx context.Context) { <-ctx.Done(); ended = true }}}
	f.start(t.Context())
	if err := (&Plugin{facts: f}).Close(); err != nil || !ended {
		t.Errorf("closed with %v while something ran: %t", err, !ended)
	}
}
