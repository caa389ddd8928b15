package store

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/internal/fleet"
	"wastenot.dev/telemetry/health"
	"wastenot.dev/telemetry/sample"
)

const (
	healthy  = v1alpha1.GradeHealthy
	degraded = v1alpha1.GradeDegraded
	failed   = v1alpha1.GradeFailed
	unknown  = v1alpha1.GradeUnknown
)

func TestSnapshotSaysWhatWasRead(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.Place("node-1", "pool-a", map[string]string{"zone": "z1"})
	f.read("node-1",
		withXID(gpu("b", 10), 79),
		withInstances(gpu("c", 2), instance("7", "1g.5gb", 0), instance("8", "2g.10gb", 0.4)),
		heldBy(withBusy(gpu("a", 0)), "train-0"),
	)
	observed := func(d fleet.Device) fleet.Device {
		d.Vendor, d.Model, d.ObservedAt, d.AgeIsLowerBound, d.Budget = "nvidia", "NVIDIA L4", midnight, true, budget
		d.ActivitySince = midnight
		return d
	}
	want := map[string]*fleet.Node{"node-1": {
		Name: "node-1", Group: "pool-a", Labels: map[string]string{"zone": "z1"}, Failed: 1,
		Devices: []fleet.Device{
			observed(fleet.Device{
				UUID: "GPU-a", Index: "0", PCIBusID: "00000000:00:00", Grade: healthy, Action: v1alpha1.ActionNone,
				Activity: v1alpha1.ActivityBusy, Attribution: "held", Holders: []fleet.Holder{{Namespace: "ml", Pod: "train-0", Container: "main"}},
			}),
			observed(fleet.Device{
				UUID: "GPU-c", Index: "2", PCIBusID: "00000000:02:00", Grade: healthy, Action: v1alpha1.ActionNone,
				Activity: v1alpha1.ActivityUnknown, Attribution: "unknown", MIG: true,
				Partitions: []fleet.Partition{
					{GI: "7", Profile: "1g.5gb", Activity: v1alpha1.ActivityUnallocated, ActivitySince: midnight, Attribution: "none"},
					{GI: "8", Profile: "2g.10gb", Activity: v1alpha1.ActivityBusy, ActivitySince: midnight, Attribution: "none"},
				},
			}),
			observed(fleet.Device{
				UUID: "GPU-b", Index: "10", PCIBusID: "00000000:0a:00", Grade: failed, Action: v1alpha1.ActionRebootNode, VendorExcludes: true,
				Reasons:  []fleet.Reason{{Code: "XID79", Grade: failed, Detail: "XID 79: GPU has fallen off the bus", Source: "dcgm", FirstSeen: midnight}},
				Activity: v1alpha1.ActivityUnallocated, Attribution: "none",
			}),
		},
	}}
	if diff := cmp.Diff(want, f.Snapshot().Nodes); diff != "" {
		t.Errorf("snapshot (-want +got):\n%s", diff)
	}
}

func TestDeviceIsItsUUID(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "node-1")
	f.read("node-1", withXID(gpu("a", 0), 79), gpu("b", 1))
	f.clock.Step(10 * time.Second)
	// A reboot gave out the indexes anew.
	f.read("node-1", withXID(gpu("a", 1), 0), gpu("b", 0))
	if diff := cmp.Diff(map[string]v1alpha1.Grade{"node-1/GPU-a": failed, "node-1/GPU-b": healthy}, f.grades()); diff != "" {
		t.Errorf("grades (-want +got):\n%s", diff)
	}
	if got := f.device("node-1", "a").Index; got != "1" {
		t.Errorf("index %s, want 1", got)
	}
}

func TestDeviceWithoutUUIDIsItsIndex(t *testing.T) {
	t.Parallel()
	unnamed := func(index int) sample.Device {
		d := gpu("", index)
		d.UUID = ""
		return d
	}
	f := newFixture(t, "node-1")
	f.read("node-1", withXID(unnamed(0), 79), unnamed(1))
	f.clock.Step(10 * time.Second)
	f.read("node-1", withXID(unnamed(0), 13), unnamed(1))
	if diff := cmp.Diff(map[string]v1alpha1.Grade{"node-1/gpu 0": failed, "node-1/gpu 1": healthy}, f.grades()); diff != "" {
		t.Errorf("grades (-want +got):\n%s", diff)
	}

	// Once its UUID is read it is no second device.
	f.clock.Step(10 * time.Second)
	f.read("node-1", gpu("a", 0), unnamed(1))
	// And a reading that lost its UUID is not taken for another device, nor for this one.
	f.clock.Step(10 * time.Second)
	if err := f.Accept(f.batch("node-1", withXID(unnamed(0), 79), unnamed(1))); err == nil || !strings.Contains(err.Error(), "GPU-a") {
		t.Errorf("the reading without UUID was believed: %v", err)
	}
	if diff := cmp.Diff(map[string]v1alpha1.Grade{"node-1/GPU-a": healthy, "node-1/gpu 1": healthy}, f.grades()); diff != "" {
		t.Errorf("grades (-want +got):\n%s", diff)
	}
}

// A seeded device has no index yet, so it cannot stand in the way of one that was read
// without its UUID; when the UUID is read, there is one device.
func TestSeededDeviceAndReadingWithoutUUIDBecomeOne(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "node-1")
	f.Seed("node-1", "GPU-a", "NVIDIA L4", []health.Finding{{Code: "XID79", Grade: failed}}, false)
	lost := gpu("", 0)
	lost.UUID = ""
	f.read("node-1", lost)
	f.clock.Step(10 * time.Second)
	f.read("node-1", gpu("a", 0))
	if diff := cmp.Diff(map[string]v1alpha1.Grade{"node-1/GPU-a": failed}, f.grades()); diff != "" {
		t.Errorf("grades (-want +got):\n%s", diff)
	}
}

func TestInstanceOfAnotherLayoutHasNoHistory(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "node-1")
	small, large := instance("7", "1g.5gb", 0), instance("7", "2g.10gb", 0)
	for _, p := range []*sample.Partition{&small, &large} {
		p.Attribution, p.Holders = sample.AttributionHeld, []sample.Holder{{Namespace: "ml", Pod: "train-0"}}
	}
	activity := func() v1alpha1.Activity { return f.device("node-1", "a").Partitions[0].Activity }
	f.pass(idleWindow+10*time.Second, "node-1", withInstances(gpu("a", 0), small))
	if got := activity(); got != v1alpha1.ActivityHeldNoProcess {
		t.Fatalf("activity %s before the layout changed", got)
	}
	f.pass(10*time.Second, "node-1", withInstances(gpu("a", 0), large))
	if got := activity(); got != unknownActivity {
		t.Errorf("activity %s of an instance that is seconds old", got)
	}
	// The old layout comes back with the same ids, and is another incarnation.
	f.pass(10*time.Second, "node-1", withInstances(gpu("a", 0), small))
	if got := activity(); got != unknownActivity {
		t.Errorf("activity %s of an instance that came back", got)
	}
}

const unknownActivity = v1alpha1.ActivityUnknown

func TestReadingsOutOfOrderAreNoNews(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "node-1")
	late := f.batch("node-1", heldBy(withXID(gpu("a", 0), 79), "train-0"))
	f.clock.Step(10 * time.Second)
	f.read("node-1", gpu("a", 0))
	before := f.Snapshot()
	if err := f.Accept(late); err != nil {
		t.Fatal(err)
	}
	if f.Snapshot() != before {
		t.Errorf("an old reading changed the fleet: %v", f.grades())
	}
}

func TestSilenceIsUnknownExceptForWhatFailed(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "node-1")
	f.read("node-1", gpu("a", 0), withXID(gpu("b", 1), 79))
	f.clock.Step(budget)
	f.Tick()
	if diff := cmp.Diff(map[string]v1alpha1.Grade{"node-1/GPU-a": healthy, "node-1/GPU-b": failed}, f.grades()); diff != "" {
		t.Errorf("grades within the budget (-want +got):\n%s", diff)
	}
	f.clock.Step(time.Second)
	f.Tick()
	if diff := cmp.Diff(map[string]v1alpha1.Grade{"node-1/GPU-a": unknown, "node-1/GPU-b": failed}, f.grades()); diff != "" {
		t.Errorf("grades past the budget (-want +got):\n%s", diff)
	}
	if got := f.device("node-1", "a").Activity; got != unknownActivity {
		t.Errorf("activity %s past the budget", got)
	}
	aged := f.Snapshot()
	f.clock.Step(time.Second)
	f.Tick()
	if f.Snapshot() != aged {
		t.Error("getting older still changed the fleet again")
	}
}

func TestDeviceThatNobodyReportsIsForgotten(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "node-1")
	f.read("node-1", gpu("a", 0), withXID(gpu("b", 1), 79), withXID(gpu("c", 2), 74))
	f.clock.Step(forget)
	f.Tick()
	if got := len(f.grades()); got != 3 {
		t.Errorf("%d devices after the hour, want 3", got)
	}
	f.clock.Step(time.Second)
	f.Tick()
	// What counts against a device is not forgotten.
	if diff := cmp.Diff(map[string]v1alpha1.Grade{"node-1/GPU-b": failed, "node-1/GPU-c": unknown}, f.grades()); diff != "" {
		t.Errorf("grades (-want +got):\n%s", diff)
	}
	if len(f.devices) != 2 {
		t.Errorf("%d devices are kept, want 2", len(f.devices))
	}
}

func TestReadingsOfWhatIsNoNodeAreRefused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		node string
		do   func(*fixture)
	}{
		"no node is named":                 {node: "", do: func(*fixture) {}},
		"the host label is the pod's name": {node: "nvidia-dcgm-exporter-drqwq", do: func(*fixture) {}},
		"only a record knows the node":     {node: "gone", do: func(f *fixture) { f.Seed("gone", "GPU-x", "", []health.Finding{{Code: "XID79", Grade: failed}}, false) }},
		"the node has left":                {node: "node-1", do: func(f *fixture) { f.Remove("node-1") }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, "node-1")
			test.do(f)
			before := f.Snapshot()
			if err := f.Accept(f.batch(test.node, gpu("a", 0))); !errors.Is(err, ErrNotANode) {
				t.Errorf("error %v, want ErrNotANode", err)
			}
			if f.Snapshot() != before || f.devices["GPU-a"] != nil {
				t.Error("the readings left something behind")
			}
		})
	}
}

func TestPlaceAttachesGroupAndLabels(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "node-1")
	labels := map[string]string{"zone": "z1"}
	f.Place("node-1", "pool-a", labels)
	if len(f.Snapshot().Nodes) != 0 {
		t.Error("a node without devices was published")
	}
	f.read("node-1", gpu("a", 0))
	before := f.Snapshot()
	labels["zone"] = "changed by its owner"
	f.Place("node-1", "pool-a", map[string]string{"zone": "z1"})
	if f.Snapshot() != before {
		t.Error("the same words changed the fleet")
	}
	f.Place("node-1", "pool-b", map[string]string{"zone": "z2"})
	got := f.Snapshot().Node("node-1")
	if got.Group != "pool-b" || got.Labels["zone"] != "z2" || f.Snapshot().Generation != before.Generation+1 {
		t.Errorf("got %+v", got)
	}
	if old := before.Node("node-1"); old.Group != "pool-a" || old.Labels["zone"] != "z1" {
		t.Errorf("the snapshot before changed: %+v", old)
	}
}

func TestNodeThatLeavesTakesItsDevices(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "node-1", "node-2")
	f.read("node-1", gpu("a", 0), withXID(gpu("b", 1), 79))
	f.read("node-2", gpu("c", 0))
	f.Remove("node-1")
	f.Remove("node-1")
	f.Remove("never-seen")
	if diff := cmp.Diff(map[string]v1alpha1.Grade{"node-2/GPU-c": healthy}, f.grades()); diff != "" {
		t.Errorf("grades (-want +got):\n%s", diff)
	}
	// What Failed is not forgiven when the node comes back, though its gauge is 0 now.
	f.clock.Step(time.Hour)
	f.Tick()
	f.Place("node-1", "", nil)
	f.read("node-1", gpu("a", 0), gpu("b", 1))
	if diff := cmp.Diff(map[string]v1alpha1.Grade{"node-1/GPU-a": healthy, "node-1/GPU-b": failed, "node-2/GPU-c": unknown}, f.grades()); diff != "" {
		t.Errorf("grades after it came back (-want +got):\n%s", diff)
	}
}

func TestNodesThatLeaveAreNotKept(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, node := range []string{"a", "b", "c"} {
		f.Place(node, "", nil)
		f.read(node, gpu(node, 0))
		f.Remove(node)
	}
	f.Tick()
	if len(f.nodes) != 0 || len(f.devices) != 0 || len(f.Snapshot().Nodes) != 0 {
		t.Errorf("kept %d nodes, %d devices, published %d", len(f.nodes), len(f.devices), len(f.Snapshot().Nodes))
	}
}

func TestSeedHoldsUntilProbationIsOver(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "node-1")
	evidence := []health.Finding{{Code: "XID79", Grade: failed, Detail: "fell off", Source: "dcgm", FirstSeen: midnight.Add(-time.Hour)}}
	f.Seed("node-1", "GPU-a", "NVIDIA L4", evidence, true)
	if d := f.device("node-1", "a"); d.Grade != failed || !d.VendorExcludes || !d.ObservedAt.IsZero() || d.Model != "NVIDIA L4" {
		t.Errorf("seeded as %+v", d)
	}
	f.clock.Step(24 * time.Hour)
	f.Tick()
	f.pass(10*time.Minute, "node-1", gpu("a", 0))
	if d := f.device("node-1", "a"); d.Grade != failed || d.CleanSince.IsZero() {
		t.Errorf("in probation: %s, clean since %s", d.Grade, d.CleanSince)
	}
	f.pass(10*time.Second, "node-1", gpu("a", 0))
	if d := f.device("node-1", "a"); d.Grade != healthy || len(d.Reasons) != 0 {
		t.Errorf("after probation: %+v", d)
	}
}

func TestDismissedDeviceIsForgotten(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "node-1")
	f.read("node-1", withXID(gpu("a", 0), 79))
	f.Dismiss("GPU-a")
	f.Dismiss("GPU-a")
	f.Dismiss("GPU-unknown")
	if got := f.grades(); len(got) != 0 {
		t.Errorf("still there: %v", got)
	}
	f.clock.Step(10 * time.Second)
	f.read("node-1", withXID(gpu("a", 0), 79))
	if diff := cmp.Diff(map[string]v1alpha1.Grade{"node-1/GPU-a": failed}, f.grades()); diff != "" {
		t.Errorf("grades when it is read again (-want +got):\n%s", diff)
	}
}

// Awaiting a change must never miss one, however changes and readers meet.
func TestNoChangeIsMissed(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "node-1")
	const changes = 500
	var done sync.WaitGroup
	for range 4 {
		done.Go(func() {
			for {
				changed := f.Changed()
				if f.Snapshot().Generation >= changes {
					return
				}
				<-changed
			}
		})
	}
	busy := false
	for range changes {
		f.clock.Step(time.Second)
		busy = !busy
		device := gpu("a", 0)
		if busy {
			device = withBusy(device)
		}
		f.read("node-1", device)
	}
	done.Wait()
	if got := f.Snapshot().Generation; got != changes {
		t.Errorf("generation %d after %d changes", got, changes)
	}
}

func TestRunTicksUntilItsContextEnds(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "node-1")
	f.read("node-1", gpu("a", 0))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f.Run(ctx, time.Second)
	}()
	changed := f.Changed()
	for !f.clock.HasWaiters() {
		runtime.Gosched()
	}
	f.clock.Step(budget + time.Second)
	<-changed
	if got := f.device("node-1", "a").Grade; got != unknown {
		t.Errorf("grade %s", got)
	}
	cancel()
	<-ended
}
