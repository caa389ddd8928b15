package app

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/klog/v2"

	"wastenot.dev/telemetry/sample"
	"wastenot.dev/telemetry/source/dcgm"
	"wastenot.dev/telemetry/store"
)

// sink passes batches to the store and counts what went wrong on the way.
type sink struct {
	store    *store.Store
	logger   klog.Logger
	scrapes  *prometheus.CounterVec
	problems prometheus.Counter
}

func newSink(fleet *store.Store, logger klog.Logger, registry prometheus.Registerer) *sink {
	s := &sink{
		store: fleet, logger: logger.WithName("scrape"),
		scrapes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "wastenot_telemetry_scrapes_total", Help: "Reads of exporters by outcome.",
		}, []string{"outcome"}),
		problems: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "wastenot_telemetry_scrape_problems_total", Help: "Parts of expositions that could not be used.",
		}),
	}
	registry.MustRegister(s.scrapes, s.problems)
	return s
}

// Accept takes one batch.
func (s *sink) Accept(batch sample.Batch) {
	s.scrapes.WithLabelValues("read").Inc()
	s.problems.Add(float64(len(batch.Problems)))
	for _, p := range batch.Problems {
		s.logger.V(2).Info("Part of an exposition was lost", "endpoint", batch.Endpoint, "where", p.Where, "why", p.Why)
	}
	if batch.Node == "" {
		s.logger.Info("An exposition names no node and is of no use; give --target NODE=URL", "endpoint", batch.Endpoint)
		return
	}
	s.store.Accept(batch)
}

// Failed notes that a read taught nothing; the devices age by themselves.
func (s *sink) Failed(target dcgm.Target, err error, _ time.Time) {
	s.scrapes.WithLabelValues("failed").Inc()
	s.logger.V(2).Info("Reading an exporter failed", "endpoint", target.URL, "node", target.Node, "reason", err.Error())
}
