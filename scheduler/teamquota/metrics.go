package teamquota

import (
	"sync"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

var (
	turnedAway = metrics.NewCounter(&metrics.CounterOpts{
		Name: "wastenot_scheduler_quota_rejections_total", StabilityLevel: metrics.ALPHA,
		Help: "Pods turned away at Reserve because their team was full.",
	})
	registerOnce sync.Once
)

// registerMetrics adds the plugin's metrics to those that kube-scheduler serves.
func registerMetrics(b *books) {
	registerOnce.Do(func() {
		legacyregistry.MustRegister(turnedAway)
		legacyregistry.RawMustRegister(metrics.NewGaugeFunc(&metrics.GaugeOpts{
			Name: "wastenot_scheduler_quota_held_pods", StabilityLevel: metrics.ALPHA,
			Help: "Pods that wait until their team has room.",
		}, func() float64 { return float64(b.parked.len()) }))
	})
}
