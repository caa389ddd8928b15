package idle_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/telemetry/idle"
	"wastenot.dev/telemetry/sample"
	"wastenot.dev/telemetry/source/dcgm"
)

// TestCapturesHaveTheActivityThatTheirIndexSays reads each capture twice, a window
// apart, and says what every device ("GPU 0") or instance ("GPU 0 GI 8") is doing. What
// pod labels leave open stays Unknown: an empty label alone does not tell a free device
// from one that a pod got around the device plugin.
func TestCapturesHaveTheActivityThatTheirIndexSays(t *testing.T) {
	const unknown = v1alpha1.ActivityUnknown
	for file, want := range map[string]map[string]v1alpha1.Activity{
		"l4-idle-driver580.prom":                     {"GPU 0": v1alpha1.ActivityUnallocated},
		"mig-a100-40gb-1x1g-allocated-idle.prom":     {"GPU 0 GI 8": unknown},
		"mig-a100-40gb-1x1g-busy.prom":               {"GPU 0 GI 9": v1alpha1.ActivityBusy},
		"mig-a100-40gb-3x1g-1x2g.prom":               {"GPU 0 GI 5": unknown, "GPU 0 GI 7": unknown, "GPU 0 GI 8": v1alpha1.ActivityBusy, "GPU 0 GI 9": unknown},
		"mig-a100-40gb-enabled-no-instances.prom":    {"GPU 0": unknown},
		"a100-40gb-mig-disabled-two-scrapes.txt":     {"GPU 0": unknown},
		"t4x2-fraction-reservation-pod.prom":         {"GPU 0": v1alpha1.ActivityHeldIdle, "GPU 1": v1alpha1.ActivityUnallocated},
		"dra-a30-mig-attributed.prom":                {"GPU 0": unknown, "GPU 1 GI 3": unknown},
		"blank-sentinel-memory-temp.prom":            {"GPU 0": unknown},
		"timesliced-3pods-identical.prom":            {"GPU 0": v1alpha1.ActivityBusy},
		"scraped-by-prometheus-exported-labels.prom": {"GPU 0": unknown},
	} {
		t.Run(file, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("..", "source", "dcgm", "testdata", "corpus", file))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, activities(dcgm.Read(text, dcgm.Origin{Node: "node", FetchedAt: time.Unix(1, 0), Budget: time.Hour}))); diff != "" {
				t.Errorf("activities (-want +got):\n%s", diff)
			}
		})
	}
}

func activities(batch sample.Batch) map[string]v1alpha1.Activity {
	const window = 10 * time.Minute
	out := map[string]v1alpha1.Activity{}
	judge := func(name string, reading idle.Reading) {
		tracker := idle.NewTracker(window)
		for _, at := range []time.Time{batch.ObservedAt, batch.ObservedAt.Add(window)} {
			reading.ObservedAt, reading.Budget = at, batch.Budget
			tracker.Observe(reading)
			out[name], _ = tracker.Activity(at)
		}
	}
	for i := range batch.Devices {
		d := &batch.Devices[i]
		if !d.MIG {
			judge("GPU "+d.Index, idle.Reading{Fields: &d.Fields, Attribution: d.Attribution, Holders: d.Holders})
		}
		for j := range d.Partitions {
			p := &d.Partitions[j]
			judge("GPU "+d.Index+" GI "+p.GI, idle.Reading{Fields: &p.Fields, MIG: true, Attribution: p.Attribution, Holders: p.Holders})
		}
	}
	return out
}
