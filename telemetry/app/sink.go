package app

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/klog/v2"

	"wastenot.dev/telemetry/sample"
	"wastenot.dev/telemetry/source/dcgm"
	"wastenot.dev/telemetry/store"
)

// What became of a read, as the metric's label has it.
const (
	outcomeRead    = "read"
	outcomeRefused = "refused"
	outcomeFailed  = "failed"
)

// sink passes batches to the store and counts what went wrong on the way.
type sink struct {
	store    *store.Store
	logger   klog.Logger
	scrapes  *prometheus.CounterVec
	problems prometheus.Counter

	mu sync.Mutex
	// refusals holds what was last said about each endpoint whose readings were not
	// believed, so that it is said once and not with every read.
	refusals map[string]string
}

func newSink(fleet *store.Store, logger klog.Logger, registry prometheus.Registerer) *sink {
	s := &sink{
		store: fleet, logger: logger.WithName("scrape"), refusals: map[string]string{},
		scrapes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "wastenot_telemetry_scrapes_total",
			Help: "Reads of exporters by outcome: read, failed, or refused where readings were not believed.",
		}, []string{"outcome"}),
		problems: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "wastenot_telemetry_scrape_problems_total", Help: "Parts of expositions that could not be used.",
		}),
	}
	for _, outcome := range []string{outcomeRead, outcomeRefused, outcomeFailed} {
		s.scrapes.WithLabelValues(outcome)
	}
	registry.MustRegister(s.scrapes, s.problems)
	return s
}

// Accept takes one batch.
func (s *sink) Accept(batch sample.Batch) {
	s.problems.Add(float64(len(batch.Problems)))
	for _, p := range batch.Problems {
		s.logger.V(2).Info("Part of an exposition was lost", "endpoint", batch.Endpoint, "where", p.Where, "why", p.Why)
	}
	err := s.store.Accept(batch)
	if err == nil {
		s.scrapes.WithLabelValues(outcomeRead).Inc()
	} else {
		s.scrapes.WithLabelValues(outcomeRefused).Inc()
	}
	if why, news := s.refused(batch.Endpoint, err); news {
		s.logger.Info("Readings of an exporter were refused; for a target outside the cluster's pods give --target NODE=URL",
			"endpoint", batch.Endpoint, "reason", why)
	}
}

// refused notes what was refused of an endpoint and tells whether that is news.
func (s *sink) refused(endpoint string, err error) (why string, news bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		delete(s.refusals, endpoint)
		return "", false
	}
	why = err.Error()
	news = s.refusals[endpoint] != why
	s.refusals[endpoint] = why
	return why, news
}

// Failed notes that a read taught nothing; the devices age by themselves.
func (s *sink) Failed(target dcgm.Target, err error, _ time.Time) {
	s.scrapes.WithLabelValues(outcomeFailed).Inc()
	s.logger.V(2).Info("Reading an exporter failed", "endpoint", target.URL, "node", target.Node, "reason", err.Error())
}
