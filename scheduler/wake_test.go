package scheduler

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/internal/fleet"
	"wastenot.dev/internal/quarantine"
)

func TestFleetChangesThatWake(t *testing.T) {
	isSplit := func(change func(*fleet.Device), profiles ...string) func(*fleet.Device) {
		return func(d *fleet.Device) { change(d); split(profiles...)(d) }
	}
	type nodes = []*fleet.Node
	tests := map[string]struct {
		old, current nodes
		quarantined  []*v1alpha1.Quarantine
		want         bool
	}{
		"a device recovered":                            {old: nodes{devicesOf("a", failed, healthy)}, current: nodes{devicesOf("a", healthy, healthy)}, want: true},
		"a device is only suspected now":                {old: nodes{devicesOf("a", failed)}, current: nodes{devicesOf("a", suspect)}, want: true},
		"a device became Unknown":                       {old: nodes{devicesOf("a", failed)}, current: nodes{devicesOf("a", func(d *fleet.Device) { d.Grade = v1alpha1.GradeUnknown })}, want: true},
		"a Failed device vanished":                      {old: nodes{devicesOf("a", healthy, failed)}, current: nodes{devicesOf("a", healthy)}, want: true},
		"a node with a Failed device vanished":          {old: nodes{devicesOf("a", failed)}, want: true},
		"the vendor takes a Failed device out":          {old: nodes{devicesOf("a", failed)}, current: nodes{devicesOf("a", failedAndOut)}, want: true},
		"the layout of a Failed device is known now":    {old: nodes{devicesOf("a", isSplit(failed))}, current: nodes{devicesOf("a", isSplit(failed, "1g.10gb"))}, want: true},
		"a Failed device is split up otherwise":         {old: nodes{devicesOf("a", isSplit(failed, "7g.80gb"))}, current: nodes{devicesOf("a", isSplit(failed, "1g.10gb"))}, want: true},
		"a Failed device is split up":                   {old: nodes{devicesOf("a", failed)}, current: nodes{devicesOf("a", isSplit(failed, "1g.10gb"))}, want: true},
		"a Failed device is split up, nobody knows how": {old: nodes{devicesOf("a", failed)}, current: nodes{devicesOf("a", isSplit(failed))}, want: true},
		"telemetry now knows a quarantined device":      {current: nodes{devicesOf("a", isSplit(failed, "1g.10gb"))}, quarantined: []*v1alpha1.Quarantine{quarantineOf("a", "GPU-a-0")}, want: true},
		"the layout of a quarantined device is known":   {old: nodes{devicesOf("a", isSplit(healthy))}, current: nodes{devicesOf("a", isSplit(healthy, "1g.10gb"))}, quarantined: []*v1alpha1.Quarantine{quarantineOf("a", "GPU-a-0")}, want: true},
		"two devices change places, one has recovered":  {old: nodes{devicesOf("a", failed, healthy)}, current: nodes{turned(devicesOf("a", healthy, healthy))}, want: true},

		"nothing changes":                         {old: nodes{devicesOf("a", failed)}, current: nodes{devicesOf("a", failed)}},
		"two devices change places":               {old: nodes{devicesOf("a", failed, healthy)}, current: nodes{turned(devicesOf("a", failed, healthy))}},
		"a device fails":                          {old: nodes{devicesOf("a", healthy)}, current: nodes{devicesOf("a", failed)}},
		"a device is suspected no longer":         {old: nodes{devicesOf("a", suspect)}, current: nodes{devicesOf("a", healthy)}},
		"so is one beside a Failed device":        {old: nodes{devicesOf("a", failed, suspect)}, current: nodes{devicesOf("a", failed, healthy)}},
		"a node of healthy devices is new":        {current: nodes{devicesOf("a", healthy)}},
		"a node of healthy devices vanished":      {old: nodes{devicesOf("a", healthy)}},
		"a healthy device is split up":            {old: nodes{devicesOf("a", healthy)}, current: nodes{devicesOf("a", isSplit(healthy, "1g.10gb"))}},
		"a Failed device is busy":                 {old: nodes{devicesOf("a", failed)}, current: nodes{devicesOf("a", func(d *fleet.Device) { failed(d); d.Activity = v1alpha1.ActivityBusy })}},
		"another node is new, this one as it was": {old: nodes{devicesOf("a", failed)}, current: nodes{devicesOf("a", failed), devicesOf("b", healthy)}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.fleet.set(test.old...)
			b.quarantines.put(test.quarantined...)
			b.facts.parked.add(gpuPod("p"))
			b.facts.fleetChanged(b.fleet.set(test.current...))
			if woken := len(b.queue.take()) > 0; woken != test.want {
				t.Errorf("woken: %t", woken)
			}
		})
	}
}

func turned(node *fleet.Node) *fleet.Node {
	slices.Reverse(node.Devices)
	return node
}

func TestQuarantineChangesThatWake(t *testing.T) {
	excluded := func(q *v1alpha1.Quarantine) { q.Status.VendorExcludes = true }
	tests := map[string]struct {
		old, current []*v1alpha1.Quarantine
		want         bool
	}{
		"one ends":             {old: []*v1alpha1.Quarantine{quarantineOf("a", "GPU-1")}, want: true},
		"one is released":      {old: []*v1alpha1.Quarantine{quarantineOf("a", "GPU-1")}, current: []*v1alpha1.Quarantine{quarantineOf("a", "GPU-1", released)}, want: true},
		"the vendor helps now": {old: []*v1alpha1.Quarantine{quarantineOf("a", "GPU-1")}, current: []*v1alpha1.Quarantine{quarantineOf("a", "GPU-1", excluded)}, want: true},
		"one comes":            {current: []*v1alpha1.Quarantine{quarantineOf("a", "GPU-1")}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.quarantines.put(test.old...)
			b.facts.parked.add(gpuPod("p"))
			b.facts.quarantinesChanged(b.quarantines.put(test.current...))
			if woken := len(b.queue.take()) > 0; woken != test.want {
				t.Errorf("woken: %t", woken)
			}
		})
	}
}

func TestPodsWaitForTheFirstListOfQuarantines(t *testing.T) {
	b := newBench(t, gpuNode("a"))
	b.quarantines.set, b.quarantines.unsynced = quarantine.NewSet(nil, 0), true
	pod := gpuPod("p")
	_, status := b.PreFilter(t.Context(), &fakeCycle{}, pod, b.nodeInfos())
	if !status.IsRejected() || status.Message() != notReady {
		t.Fatalf("PreFilter says %v", status)
	}
	if b.facts.parked.len() != 1 {
		t.Fatal("not parked")
	}
	b.facts.quarantinesChanged(b.quarantines.put())
	if diff := cmp.Diff([]string{"p"}, b.queue.take()); diff != "" {
		t.Errorf("woken (-want +got):\n%s", diff)
	}
	b.begin(t, pod)
}

func TestParkedPodsStayUntilPlacedOrGone(t *testing.T) {
	b := newBench(t, gpuNode("a"))
	b.fleet.set(devicesOf("a", failed, failed))
	pod := gpuPod("p")
	for range 3 {
		cycle := b.begin(t, pod)
		if status := b.filter(t, cycle, pod, "a"); !status.IsRejected() {
			t.Fatal(status)
		}
		b.facts.fleetChanged(b.fleet.set(devicesOf("a", failed, healthy)))
		if diff := cmp.Diff([]string{"p"}, b.queue.take()); diff != "" {
			t.Errorf("woken (-want +got):\n%s", diff)
		}
		b.fleet.set(devicesOf("a", failed, failed))
	}
	if b.facts.parked.len() != 1 {
		t.Errorf("%d parked, want 1", b.facts.parked.len())
	}
}

func TestANamesakeDoesNotHideAPod(t *testing.T) {
	b := newBench(t)
	old, successor := gpuPod("p"), gpuPod("p")
	successor.UID = "another"
	b.facts.parked.add(old)
	b.facts.parked.add(successor)
	if got := len(b.facts.parked.all()); got != 2 {
		t.Errorf("%d pods, want 2", got)
	}
	b.facts.parked.remove(old.UID)
	if all := b.facts.parked.all(); len(all) != 1 || all["another"] != successor {
		t.Errorf("left is %v", all)
	}
}

func TestAPodThatIsGoneIsNotParked(t *testing.T) {
	b := newBench(t, gpuNode("a"))
	b.fleet.set(devicesOf("a", failed))
	b.facts.gone = func(*corev1.Pod) bool { return true }
	cycle := b.begin(t, gpuPod("p"))
	if status := b.filter(t, cycle, gpuPod("p"), "a"); !status.IsRejected() {
		t.Fatal(status)
	}
	if b.facts.parked.len() != 0 {
		t.Error("a pod that was deleted during its cycle is parked for ever")
	}
}

// The queue learns of a pod's end only after its cycle, so what is lifted in between
// must not be lost.
func TestALiftDuringTheCycleWakesThePod(t *testing.T) {
	type cycleOf = func(b *bench, t *testing.T, pod *corev1.Pod, lift func())
	points := map[string]cycleOf{
		"before Filter": func(b *bench, t *testing.T, pod *corev1.Pod, lift func()) {
			cycle := b.begin(t, pod)
			lift()
			b.filter(t, cycle, pod, "a")
		},
		"after Filter": func(b *bench, t *testing.T, pod *corev1.Pod, lift func()) {
			b.filter(t, b.begin(t, pod), pod, "a")
			lift()
		},
	}
	lifts := map[string]func(b *bench){
		"a recovery":         func(b *bench) { b.facts.fleetChanged(b.fleet.set(devicesOf("a", healthy))) },
		"a quarantine's end": func(b *bench) { b.facts.quarantinesChanged(b.quarantines.put()) },
	}
	for point, run := range points {
		for lift, lifted := range lifts {
			t.Run(lift+" "+point, func(t *testing.T) {
				b := newBench(t, gpuNode("a"))
				b.fleet.set(devicesOf("a", failed))
				b.quarantines.put(quarantineOf("a", "GPU-a-0"))
				run(b, t, gpuPod("p"), func() { lifted(b) })
				if diff := cmp.Diff([]string{"p"}, b.queue.take()); diff != "" {
					t.Errorf("woken (-want +got):\n%s", diff)
				}
			})
		}
	}
}

func TestNoLiftIsLostToARace(t *testing.T) {
	for i := range 500 {
		b := newBench(t, gpuNode("a"))
		b.fleet.set(devicesOf("a", failed))
		pod := gpuPod(fmt.Sprint("p-", i))
		var both sync.WaitGroup
		both.Go(func() { b.facts.fleetChanged(b.fleet.set(devicesOf("a", healthy))) })
		cycle := b.begin(t, pod)
		status := b.filter(t, cycle, pod, "a")
		both.Wait()
		if status.IsRejected() && len(b.queue.take()) == 0 {
			t.Fatal("a pod that was turned away was not woken by the recovery")
		}
	}
}

func TestNothingIsWokenWithoutAQueue(t *testing.T) {
	b := newBench(t)
	b.facts.activate = nil
	b.facts.parked.add(gpuPod("p"))
	b.facts.wakeParked("a test")
}
