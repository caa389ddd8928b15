package scheduler

import (
	"sync"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

var (
	rejections = metrics.NewCounter(&metrics.CounterOpts{
		Name: "wastenot_scheduler_rejections_total", StabilityLevel: metrics.ALPHA,
		Help: "Nodes turned away because the kubelet could give an unfit device.",
	})
	onUnfitDevice = metrics.NewCounter(&metrics.CounterOpts{
		Name: "wastenot_scheduler_pods_on_unfit_devices_total", StabilityLevel: metrics.ALPHA,
		Help: "Pods that the kubelet gave a quarantined device after this scheduler placed them.",
	})
	registerOnce sync.Once
)

// registerMetrics adds the plugin's metrics to those that kube-scheduler serves.
func registerMetrics(f *facts) {
	registerOnce.Do(func() {
		legacyregistry.MustRegister(rejections, onUnfitDevice)
		gauge := func(name, help string, read func() float64) {
			legacyregistry.RawMustRegister(metrics.NewGaugeFunc(&metrics.GaugeOpts{Name: name, Help: help, StabilityLevel: metrics.ALPHA}, read))
		}
		gauge("wastenot_scheduler_parked_pods", "Pods that this plugin turned away and that still wait.",
			func() float64 { return float64(f.parked.len()) })
		gauge("wastenot_scheduler_reserved_pods", "Accelerator pods given a node whose devices are not known yet.",
			func() float64 { return float64(f.book.len()) })
		gauge("wastenot_scheduler_fleet_stale", "1 while telemetry is silent and grades count as Unknown.",
			func() float64 { return boolToFloat(f.stale()) })
	})
}

func boolToFloat(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
