package quarantine

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"wastenot.dev/api/v1alpha1"
)

// patience is how long a test waits for what must come; it bounds failures only.
const patience = 30 * time.Second

func await[T any](t *testing.T, what string, from <-chan T) T {
	t.Helper()
	select {
	case value := <-from:
		return value
	case <-time.After(patience):
		t.Fatalf("waited %s for %s", patience, what)
		panic("unreachable")
	}
}

// step is one call of OnChange, with what readers saw at that moment.
type step struct {
	old, current *Set
	synced       bool
	read         *Set
}

// cluster is an API server with quarantines and an informer that follows it.
type cluster struct {
	t        *testing.T
	client   *dynamicfake.FakeDynamicClient
	informer *Informer
	steps    chan step
	watching chan struct{}
}

// newCluster starts nothing; start does.
func newCluster(t *testing.T, objects ...runtime.Object) *cluster {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	client := dynamicfake.NewSimpleDynamicClient(scheme, objects...)
	c := &cluster{t: t, client: client, informer: NewInformer(client), steps: make(chan step, 100), watching: make(chan struct{}, 100)}
	// What is written between the list and the watch is lost with this fake client.
	client.PrependWatchReactor("*", func(action clienttesting.Action) (bool, watch.Interface, error) {
		w, err := client.Tracker().Watch(action.GetResource(), action.GetNamespace())
		c.watching <- struct{}{}
		return true, w, err
	})
	c.informer.OnChange(func(old, current *Set) {
		c.steps <- step{old: old, current: current, synced: c.informer.Synced(), read: c.informer.Current()}
	})
	return c
}

// start runs the informer until the test ends and returns the first step.
func (c *cluster) start() step {
	c.t.Helper()
	c.run()
	first := await(c.t, "the first list", c.steps)
	await(c.t, "the watch", c.watching)
	return first
}

func (c *cluster) run() {
	c.t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(c.t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- c.informer.Run(ctx) }()
	c.t.Cleanup(func() {
		cancel()
		if err := await(c.t, "the informer's end", ended); err != nil && !errors.Is(err, context.Canceled) {
			c.t.Error(err)
		}
	})
}

func (c *cluster) quarantines() dynamic.ResourceInterface {
	return c.client.Resource(v1alpha1.QuarantineResource)
}

func (c *cluster) object(q *v1alpha1.Quarantine) *unstructured.Unstructured {
	c.t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(q)
	if err != nil {
		c.t.Fatal(err)
	}
	object := &unstructured.Unstructured{Object: content}
	object.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Quarantine"))
	return object
}

func (c *cluster) create(object *unstructured.Unstructured) {
	c.t.Helper()
	if _, err := c.quarantines().Create(c.t.Context(), object, metav1.CreateOptions{}); err != nil {
		c.t.Fatal(err)
	}
}

func (c *cluster) update(q *v1alpha1.Quarantine) {
	c.t.Helper()
	if _, err := c.quarantines().Update(c.t.Context(), c.object(q), metav1.UpdateOptions{}); err != nil {
		c.t.Fatal(err)
	}
}

func wantOnNode(t *testing.T, set *Set, want ...Entry) {
	t.Helper()
	if diff := cmp.Diff(want, set.OnNode("node-1")); diff != "" {
		t.Errorf("entries on node-1 (-want +got):\n%s", diff)
	}
}

func TestInformerShowsTheFirstListBeforeItSaysSynced(t *testing.T) {
	for name, objects := range map[string][]runtime.Object{
		"nothing is quarantined": nil,
		"something is":           {make1("a", "GPU-1")},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, objects...)
			if c.informer.Synced() || c.informer.Current().Version() != 0 {
				t.Fatal("synced before anything was read")
			}
			first := c.start()
			if !first.synced || first.read != first.current || first.old.Version() != 0 {
				t.Errorf("synced %t, current %t, version before %d", first.synced, first.read == first.current, first.old.Version())
			}
			if got := len(first.current.OnNode("node-1")); got != len(objects) {
				t.Errorf("%d entries, want %d", got, len(objects))
			}
		})
	}
}

func TestInformerFollowsAQuarantine(t *testing.T) {
	c := newCluster(t)
	entry := Entry{UUID: "GPU-1", Reason: "XID79"}
	last := c.start()
	next := func() *Set {
		t.Helper()
		got := await(t, "a change", c.steps)
		if got.old != last.current || got.read != got.current || got.current.Version() != last.current.Version()+1 {
			t.Error("a step does not follow the last one")
		}
		last = got
		return got.current
	}

	c.create(c.object(make1("a", "GPU-1")))
	wantOnNode(t, next(), entry)

	c.update(make1("a", "GPU-1", vendorExcludes))
	entry.VendorExcludes = true
	wantOnNode(t, next(), entry)

	c.update(make1("a", "GPU-1", vendorExcludes, released))
	entry.Released = true
	wantOnNode(t, next(), entry)

	c.update(make1("a", "GPU-1", deleting))
	wantOnNode(t, next())

	c.update(make1("a", "GPU-1"))
	wantOnNode(t, next(), Entry{UUID: "GPU-1", Reason: "XID79"})

	if err := c.quarantines().Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	wantOnNode(t, next())
}

func TestInformerStaysSilentWhenNothingOfInterestChanges(t *testing.T) {
	c := newCluster(t, make1("a", "GPU-1"), make1("b", "GPU-1", reason("Operator")))
	before := c.start().current
	c.update(make1("a", "GPU-1", func(q *v1alpha1.Quarantine) { q.Status.Phase = v1alpha1.PhaseProbation }))
	c.create(c.object(make1("c", "GPU-3")))
	got := await(t, "a change", c.steps)
	if got.old != before {
		t.Error("a phase alone made a new set")
	}
	wantOnNode(t, got.current, Entry{UUID: "GPU-1", Reason: "XID79"}, Entry{UUID: "GPU-3", Reason: "XID79"})
}

func TestInformerLeavesOutOnlyWhatCannotBeRead(t *testing.T) {
	c := newCluster(t)
	c.start()
	malformed := c.object(make1("a", "GPU-1"))
	malformed.Object["spec"] = "GPU-1"
	c.create(malformed)
	c.create(c.object(make1("b", "GPU-2")))
	for {
		set := await(t, "the quarantine that can be read", c.steps).current
		if len(set.OnNode("node-1")) > 0 {
			wantOnNode(t, set, Entry{UUID: "GPU-2", Reason: "XID79"})
			return
		}
	}
}

func TestInformerIsNotSyncedWhileQuarantinesAreNotServed(t *testing.T) {
	c := newCluster(t, make1("a", "GPU-1"))
	asked := make(chan struct{}, 100)
	c.client.PrependReactor("list", "quarantines", func(clienttesting.Action) (bool, runtime.Object, error) {
		asked <- struct{}{}
		return true, nil, apierrors.NewNotFound(v1alpha1.QuarantineResource.GroupResource(), "")
	})
	c.run()
	await(t, "the first list", asked)
	await(t, "the second list", asked)
	if c.informer.Synced() || len(c.steps) > 0 {
		t.Error("synced without a list")
	}
}
