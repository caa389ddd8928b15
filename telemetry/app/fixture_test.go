package app

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/klog/v2"
	clocktesting "k8s.io/utils/clock/testing"

	"wastenot.dev/telemetry/health"
	"wastenot.dev/telemetry/sample"
	"wastenot.dev/telemetry/store"
)

var midnight = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// newService is a service without a cluster.
func newService(t *testing.T, nodes ...string) (*service, *clocktesting.FakeClock) {
	t.Helper()
	policy, err := health.DefaultPolicy()
	if err != nil {
		t.Fatal(err)
	}
	clock := clocktesting.NewFakeClock(midnight)
	s := &service{
		options: NewOptions(), clock: clock, registry: prometheus.NewRegistry(),
		store: store.New(store.Options{Epoch: "first", Policy: policy, Clock: clock}),
	}
	for _, node := range nodes {
		s.store.Place(node, "pool-a", nil)
	}
	s.registry.MustRegister(&collector{store: s.store, clock: clock})
	return s, clock
}

func (s *service) testSink() *sink { return newSink(s.store, klog.Background(), s.registry) }

// batch is one reading of one L4 on the node.
func batch(node, uuid string, xid sample.Value) sample.Batch {
	d := sample.Device{UUID: uuid, Index: "0", Model: "NVIDIA L4", Attribution: sample.AttributionNone}
	d.Fields[sample.XID] = xid
	return sample.Batch{
		Source: "dcgm", Endpoint: "http://192.0.2.1:9400/metrics", Node: node, ObservedAt: midnight, Budget: time.Minute,
		Devices: []sample.Device{d},
	}
}
