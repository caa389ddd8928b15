package store

import (
	"testing"
	"time"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/telemetry/health"
	"wastenot.dev/telemetry/sample"
)

// onlyXID is what an exporter has left of a device that the driver has lost.
func onlyXID(id string, code float64) sample.Device {
	d := sample.Device{UUID: "GPU-" + id, Index: "0"}
	d.Fields[sample.XID] = sample.Known(code)
	return d
}

func TestFailingDeviceKeepsItsLayout(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "node-1")
	f.read("node-1", withInstances(gpu("a", 0), instance("7", "1g.5gb", 0), instance("5", "2g.10gb", 0)))
	f.pass(10*time.Second, "node-1", onlyXID("a", 79))
	got := f.device("node-1", "a")
	if !got.MIG || got.LayoutUnknown || len(got.Partitions) != 2 {
		t.Errorf("MIG %t, layout unknown %t, partitions %v after the rows were lost", got.MIG, got.LayoutUnknown, got.Partitions)
	}
	// A reading that shows a layout replaces it, also while the device fails.
	f.pass(10*time.Second, "node-1", withXID(gpu("a", 0), 79))
	if got := f.device("node-1", "a"); got.MIG || got.LayoutUnknown || len(got.Partitions) != 0 {
		t.Errorf("MIG %t, layout unknown %t, partitions %v after it was shown whole", got.MIG, got.LayoutUnknown, got.Partitions)
	}
}

func TestLayoutThatNobodySawIsUnknown(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "node-1")
	f.Seed("node-1", "GPU-a", "", []health.Finding{{Code: "XID79", Grade: v1alpha1.GradeFailed}}, false)
	if !f.device("node-1", "a").LayoutUnknown {
		t.Error("the layout of a device that was only seeded counts as known")
	}
	f.pass(10*time.Second, "node-1", onlyXID("a", 79))
	if !f.device("node-1", "a").LayoutUnknown {
		t.Error("an XID alone counts as showing the layout")
	}
	f.pass(10*time.Second, "node-1", gpu("a", 0))
	if f.device("node-1", "a").LayoutUnknown {
		t.Error("a full reading does not show the layout")
	}
}
