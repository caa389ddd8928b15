package store

import (
	"fmt"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/internal/fleet"
	"wastenot.dev/telemetry/health"
	"wastenot.dev/telemetry/sample"
)

const (
	budget     = 30 * time.Second
	idleWindow = 10 * time.Minute
	forget     = time.Hour
)

var midnight = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// fixture is a store with a clock of its own.
type fixture struct {
	*Store
	t     testing.TB
	clock *clocktesting.FakeClock
}

func newFixture(t testing.TB, nodes ...string) *fixture {
	t.Helper()
	policy, err := health.DefaultPolicy()
	if err != nil {
		t.Fatal(err)
	}
	clock := clocktesting.NewFakeClock(midnight)
	f := &fixture{t: t, clock: clock, Store: New(Options{
		Epoch: "first", Policy: policy, IdleWindow: idleWindow, Forget: forget, Clock: clock,
	})}
	for _, node := range nodes {
		f.Place(node, "", nil)
	}
	return f
}

// gpu is a healthy, quiet device with the last letters of its UUID.
func gpu(id string, index int) sample.Device {
	d := sample.Device{UUID: "GPU-" + id, Index: fmt.Sprint(index), Model: "NVIDIA L4", PCIBusID: fmt.Sprintf("00000000:%02x:00", index), Attribution: sample.AttributionNone}
	d.Fields[sample.XID] = sample.Known(0)
	d.Fields[sample.GPUUtil] = sample.Known(0)
	d.Fields[sample.DRAMActive] = sample.Known(0)
	return d
}

func withXID(d sample.Device, code float64) sample.Device {
	d.Fields[sample.XID] = sample.Known(code)
	return d
}

func withBusy(d sample.Device) sample.Device {
	d.Fields[sample.GPUUtil], d.Fields[sample.DRAMActive] = sample.Known(0.9), sample.Known(0.4)
	return d
}

func heldBy(d sample.Device, pod string) sample.Device {
	d.Attribution, d.Holders = sample.AttributionHeld, []sample.Holder{{Namespace: "ml", Pod: pod, Container: "main"}}
	return d
}

func instance(gi, profile string, engine float64) sample.Partition {
	p := sample.Partition{GI: gi, Profile: profile, Attribution: sample.AttributionNone}
	p.Fields[sample.EngineActive] = sample.Known(engine)
	p.Fields[sample.FBUsed] = sample.Known(6 << 20)
	return p
}

func withInstances(d sample.Device, instances ...sample.Partition) sample.Device {
	d.MIG, d.Partitions, d.Attribution = true, instances, sample.AttributionUnknown
	d.Fields[sample.GPUUtil] = sample.Unknown
	return d
}

func (f *fixture) batch(node string, devices ...sample.Device) sample.Batch {
	return sample.Batch{Source: "dcgm", Endpoint: "http://" + node, Node: node, ObservedAt: f.clock.Now(), AgeIsLowerBound: true, Budget: budget, Devices: devices}
}

// read gives the store readings that it must believe.
func (f *fixture) read(node string, devices ...sample.Device) {
	f.t.Helper()
	if err := f.Accept(f.batch(node, devices...)); err != nil {
		f.t.Fatalf("reading %s: %v", node, err)
	}
}

// pass reads the same devices every 10 s for a time.
func (f *fixture) pass(lasts time.Duration, node string, devices ...sample.Device) {
	f.t.Helper()
	for end := f.clock.Now().Add(lasts); f.clock.Now().Before(end); {
		f.clock.Step(10 * time.Second)
		f.read(node, devices...)
	}
}

// grades names the grade of each device as "node/uuid".
func (f *fixture) grades() map[string]v1alpha1.Grade {
	grades := map[string]v1alpha1.Grade{}
	for _, node := range f.Snapshot().Nodes {
		for i := range node.Devices {
			d := &node.Devices[i]
			name := d.UUID
			if name == "" {
				name = "gpu " + d.Index
			}
			grades[node.Name+"/"+name] = d.Grade
		}
	}
	return grades
}

func (f *fixture) device(node, id string) *fleet.Device {
	f.t.Helper()
	d := f.Snapshot().Node(node).Device("GPU-" + id)
	if d == nil {
		f.t.Fatalf("no device %s on %s", id, node)
	}
	return d
}
