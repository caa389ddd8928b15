package quarantine

import (
	"context"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/internal/fleet"
)

const budget = time.Minute

var midnight = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// source is a fleet that the test changes.
type source struct {
	mu        sync.Mutex
	snapshot  *fleet.Snapshot
	changed   chan struct{}
	dismissed []string
}

func (s *source) Snapshot() *fleet.Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.snapshot
}

func (s *source) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

func (s *source) Dismiss(uuid string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dismissed = append(s.dismissed, uuid)
}

// set replaces the fleet by one node with the devices.
func (s *source) set(node string, devices ...fleet.Device) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.snapshot = &fleet.Snapshot{Nodes: map[string]*fleet.Node{node: {Name: node, Devices: devices}}}
	if s.changed != nil {
		close(s.changed)
	}
	s.changed = make(chan struct{})
}

// fixture is a controller on an API server in memory.
type fixture struct {
	*Controller
	t        *testing.T
	source   *source
	clock    *clocktesting.FakeClock
	recorder *events.FakeRecorder

	mu sync.Mutex
	// writes counts what the controller asked for, by verb.
	writes map[string]int
	// deletes holds the options of each.
	deletes []*client.DeleteOptions
	// fail makes a write fail.
	fail func(verb string, object client.Object) error
}

func newFixture(t *testing.T, objects ...client.Object) *fixture {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	f := &fixture{
		t: t, source: &source{}, clock: clocktesting.NewFakeClock(midnight), recorder: events.NewFakeRecorder(64),
		writes: map[string]int{},
	}
	f.source.set("node-1")
	api := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(&v1alpha1.Quarantine{}).
		WithInterceptorFuncs(f.interceptors()).Build()
	f.Controller = &Controller{Client: api, Source: f.source, Recorder: f.recorder, Clock: f.clock}
	return f
}

func (f *fixture) interceptors() interceptor.Funcs {
	return interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
			if err := f.count("create", object); err != nil {
				return err
			}
			// As the real server does, which leaves the status to its subresource.
			object.(*v1alpha1.Quarantine).Status = v1alpha1.QuarantineStatus{}
			return c.Create(ctx, object, options...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.DeleteOption) error {
			f.mu.Lock()
			f.deletes = append(f.deletes, (&client.DeleteOptions{}).ApplyOptions(options))
			f.mu.Unlock()
			if err := f.count("delete", object); err != nil {
				return err
			}
			return c.Delete(ctx, object, options...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			if err := f.count("patch", object); err != nil {
				return err
			}
			return c.Patch(ctx, object, patch, options...)
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, object client.Object, options ...client.SubResourceUpdateOption) error {
			if err := f.count("update "+sub, object); err != nil {
				return err
			}
			return c.SubResource(sub).Update(ctx, object, options...)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
			if err := f.count("patch "+sub, object); err != nil {
				return err
			}
			return c.SubResource(sub).Patch(ctx, object, patch, options...)
		},
	}
}

func (f *fixture) count(verb string, object client.Object) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.writes[verb]++
	if f.fail != nil {
		return f.fail(verb, object)
	}
	return nil
}

// wrote returns the writes since it was last asked.
func (f *fixture) wrote() map[string]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	writes := f.writes
	f.writes = map[string]int{}
	return writes
}

// pass gives the controller a fleet and has it reconcile.
func (f *fixture) pass(node string, devices ...fleet.Device) {
	f.t.Helper()
	f.source.set(node, devices...)
	if err := f.reconcile(f.t.Context()); err != nil {
		f.t.Fatal(err)
	}
}

// objects returns the quarantines by name, without what only the API server writes.
func (f *fixture) objects() map[string]v1alpha1.Quarantine {
	f.t.Helper()
	var list v1alpha1.QuarantineList
	if err := f.Client.List(f.t.Context(), &list); err != nil {
		f.t.Fatal(err)
	}
	objects := map[string]v1alpha1.Quarantine{}
	for _, q := range list.Items {
		q.ResourceVersion, q.UID = "", ""
		q.TypeMeta.Kind, q.TypeMeta.APIVersion = "", ""
		objects[q.Name] = q
	}
	return objects
}

func (f *fixture) object(name string) *v1alpha1.Quarantine {
	f.t.Helper()
	q := &v1alpha1.Quarantine{}
	if err := f.Client.Get(f.t.Context(), client.ObjectKey{Name: name}, q); err != nil {
		f.t.Fatal(err)
	}
	return q
}

// edit is an operator's change.
func (f *fixture) edit(name string, change func(*v1alpha1.Quarantine)) {
	f.t.Helper()
	q := f.object(name)
	change(q)
	if err := f.Client.Update(f.t.Context(), q); err != nil {
		f.t.Fatal(err)
	}
}

// events returns what was recorded since it was last asked.
func (f *fixture) events() []string {
	var recorded []string
	for {
		select {
		case event := <-f.recorder.Events:
			recorded = append(recorded, event)
		default:
			return recorded
		}
	}
}

// device is one that was read at midnight.
func device(uuid string, grade v1alpha1.Grade, reasons ...fleet.Reason) fleet.Device {
	return fleet.Device{
		UUID: uuid, Index: "3", Model: "NVIDIA L4", Grade: grade, Action: v1alpha1.ActionRebootNode, Reasons: reasons,
		ObservedAt: midnight, Budget: budget,
	}
}

func reason(code string, grade v1alpha1.Grade) fleet.Reason {
	return fleet.Reason{Code: code, Grade: grade, Detail: "about " + code, Source: "dcgm", FirstSeen: midnight.Add(1500 * time.Millisecond)}
}

// fallen is a device that fell off the bus.
func fallen(uuid string) fleet.Device {
	d := device(uuid, v1alpha1.GradeFailed, reason("XID79", v1alpha1.GradeFailed), reason("PCIeReplays", v1alpha1.GradeSuspect))
	d.VendorExcludes = true
	return d
}
