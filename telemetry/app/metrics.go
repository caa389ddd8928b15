package app

import (
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/internal/fleet"
	"wastenot.dev/telemetry/store"
)

var (
	grades     = []v1alpha1.Grade{v1alpha1.GradeHealthy, v1alpha1.GradeSuspect, v1alpha1.GradeDegraded, v1alpha1.GradeFailed, v1alpha1.GradeUnknown}
	activities = []v1alpha1.Activity{
		v1alpha1.ActivityBusy, v1alpha1.ActivityLowEfficiency, v1alpha1.ActivityHeldIdle, v1alpha1.ActivityHeldNoProcess,
		v1alpha1.ActivityUnallocated, v1alpha1.ActivityUnknown,
	}

	deviceLabels = []string{"node", "uuid", "index"}

	infoDesc = prometheus.NewDesc("wastenot_device_info",
		"What the device is; the value is always 1.", slices.Concat(deviceLabels, []string{"vendor", "model", "node_group"}), nil)
	gradeDesc = prometheus.NewDesc("wastenot_device_grade",
		"1 for the device's grade, 0 for the others. Unknown is a grade of its own.", slices.Concat(deviceLabels, []string{"grade"}), nil)
	activityDesc = prometheus.NewDesc("wastenot_device_activity",
		"1 for the device's activity, 0 for the others; per MIG instance where gi is set.", slices.Concat(deviceLabels, []string{"gi", "ci", "profile", "activity"}), nil)
	ageDesc = prometheus.NewDesc("wastenot_device_sample_age_seconds",
		"Age of the device's readings. Absent for a device that was never read.", deviceLabels, nil)
	generationDesc = prometheus.NewDesc("wastenot_fleet_generation",
		"Generation of the fleet snapshot.", nil, nil)
)

// collector shows the fleet as metrics. Labels hold no live readings.
type collector struct {
	store *store.Store
	clock clock.PassiveClock
}

// Describe names the metrics.
func (c *collector) Describe(out chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{infoDesc, gradeDesc, activityDesc, ageDesc, generationDesc} {
		out <- desc
	}
}

// Collect reads one snapshot.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	snapshot, now := c.store.Snapshot(), c.clock.Now()
	// A published time may be older than the last reading: a new one alone is no change.
	c.store.EachReading(func(node, uuid, index string, observedAt time.Time) {
		out <- prometheus.MustNewConstMetric(ageDesc, prometheus.GaugeValue, now.Sub(observedAt).Seconds(), node, uuid, index)
	})
	out <- prometheus.MustNewConstMetric(generationDesc, prometheus.GaugeValue, float64(snapshot.Generation))
	for _, node := range snapshot.Nodes {
		for i := range node.Devices {
			collectDevice(out, node, &node.Devices[i])
		}
	}
}

func collectDevice(out chan<- prometheus.Metric, node *fleet.Node, d *fleet.Device) {
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, append([]string{node.Name, d.UUID, d.Index}, labels...)...)
	}
	gauge(infoDesc, 1, d.Vendor, d.Model, node.Group)
	for _, grade := range grades {
		gauge(gradeDesc, oneIf(grade == d.Grade), string(grade))
	}
	for _, activity := range activities {
		gauge(activityDesc, oneIf(activity == d.Activity), "", "", "", string(activity))
		for _, p := range d.Partitions {
			gauge(activityDesc, oneIf(activity == p.Activity), p.GI, p.CI, p.Profile, string(activity))
		}
	}
}

func oneIf(condition bool) float64 {
	if condition {
		return 1
	}
	return 0
}
