//go:build integration

package integration

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"wastenot.dev/test/fixture/exporter"
	"wastenot.dev/test/fixture/rig"
)

const (
	// scrapeInterval and probation are short, so that a fault and a recovery take
	// seconds.
	scrapeInterval = time.Second
	probation      = 3 * time.Second
	// patience bounds every wait. It is long because the machine may be busy; a test
	// that waits for something that never comes fails by it.
	patience = 60 * time.Second
)

// nodes is a small fleet with one of each kind.
var nodes = []rig.NodeSpec{
	{Name: "gpu-a", Model: "NVIDIA H100 80GB HBM3", Template: exporter.A100, Kind: rig.Whole, GPUs: 4, Group: "h100"},
	{Name: "gpu-b", Model: "NVIDIA H100 80GB HBM3", Template: exporter.A100, Kind: rig.Whole, GPUs: 4, Group: "h100"},
	{Name: "mig-a", Model: "NVIDIA A100-SXM4-40GB", Template: exporter.A100MIG, Kind: rig.MIG, GPUs: 2, Group: "a100"},
	{Name: "mig-b", Model: "NVIDIA A100-SXM4-40GB", Template: exporter.A100MIG, Kind: rig.MIG, GPUs: 2, Group: "a100"},
	{Name: "slices-a", Model: "Tesla T4", Template: exporter.T4, Kind: rig.TimeSliced, GPUs: 2, Replicas: 4, Group: "t4"},
	{Name: "slices-b", Model: "Tesla T4", Template: exporter.T4, Kind: rig.TimeSliced, GPUs: 2, Replicas: 4, Group: "t4"},
	{Name: "cpu-a", Group: "cpu"},
}

// versions are the control planes that the suite runs against; "" is the native one.
var versions = []string{"", "1.34"}

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(m.Run())
}

// onEachVersion runs the test on a fresh product for each version.
func onEachVersion(t *testing.T, test func(ctx context.Context, t *testing.T, r *rig.Rig)) {
	t.Helper()
	onEachVersionWith(t, "", test)
}

// onEachVersionWith is onEachVersion with another shipped configuration of the scheduler.
func onEachVersionWith(t *testing.T, schedulerConfig string, test func(ctx context.Context, t *testing.T, r *rig.Rig)) {
	t.Helper()
	for _, version := range versions {
		name := "native"
		if version != "" {
			name = "emulating " + version
		}
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			r, err := rig.Start(ctx, rig.Options{
				Nodes: nodes, EmulatedVersion: version, ScrapeInterval: scrapeInterval, Probation: probation,
				SchedulerConfig: schedulerConfig, Webhooks: 1, Progress: os.Stderr, Seed: 1,
			})
			if err != nil {
				cancel()
				t.Fatal(err)
			}
			stopAtEnd(t, r, cancel)
			test(ctx, t, r)
		})
	}
}

// stopAtEnd ends the product with the test, and keeps its logs when the test failed.
func stopAtEnd(t *testing.T, r *rig.Rig, cancel context.CancelFunc) {
	t.Helper()
	t.Cleanup(func() {
		cancel()
		if err := r.Stop(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("logs are kept in %s", r.Dir())
			return
		}
		if err := os.RemoveAll(r.Dir()); err != nil {
			t.Error(err)
		}
	})
}

// await fails the test when the condition does not come to hold.
func await(ctx context.Context, t *testing.T, r *rig.Rig, what string, condition func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := r.Watch.Await(ctx, what, condition); err != nil {
		for _, p := range r.Watch.Pods() {
			if p.Node == "" {
				t.Logf("%s/%s waits: %s", p.Namespace, p.Name, p.Waiting)
			}
		}
		t.Fatal(err)
	}
}

// running tells whether all n pods of the workload run.
func running(r *rig.Rig, namespace, name string, n int) func() bool {
	return func() bool {
		for i := range n {
			if p := r.Watch.Pod(namespace, fmt.Sprintf("%s-%d", name, i)); p == nil || p.Phase != "Running" {
				return false
			}
		}
		return true
	}
}
