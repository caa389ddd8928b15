//go:build perf

package bench

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	benchmark "k8s.io/kubernetes/test/integration/scheduler_perf"
	"sigs.k8s.io/yaml"

	"wastenot.dev/scheduler"
	"wastenot.dev/scheduler/pricedbinding"
	"wastenot.dev/scheduler/teamquota"
	"wastenot.dev/test/perf/scheduling/workload"
)

var (
	workloadName = flag.String("workload", "gpu-1000/system", "name of the workload")
	profileName  = flag.String("profile", string(ours), "stock, ours, or blind: ours without telemetry")
	small        = flag.Bool("small", false, "play the workload at a size that only shows that everything works")
)

func TestMain(m *testing.M) {
	if err := benchmark.InitTests(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// BenchmarkPerfScheduling plays the workload of -workload once with the profile of
// -profile. What it measured it writes as JSON to -data-items-dir.
func BenchmarkPerfScheduling(b *testing.B) {
	w, err := workload.Named(*workloadName)
	if err != nil {
		b.Fatal(err)
	}
	if *small {
		w = w.Short()
	}
	p := profile(*profileName)
	if p != stock && p != ours && p != blind {
		b.Fatalf("there is no profile %q: give stock, ours or blind", p)
	}
	dir := b.TempDir()
	config := shippedConfig(b).profile(b, p, w)
	if p == ours {
		config.watchFleet(b, serveTelemetry(b, fleetOf(w)))
	}
	schedulerConfig, testCases := filepath.Join(dir, "scheduler.yaml"), filepath.Join(dir, "workloads.yaml")
	writeYAML(b, schedulerConfig, config)
	writeYAML(b, testCases, []any{w.TestCase("testdata", schedulerConfig)})
	benchmark.PerfSchedulingLabelFilter = "" // Upstream's labels are not used.
	benchmark.RunBenchmarkPerfScheduling(b, testCases, "wastenot", registry(p), benchmark.WithPrepareFn(prepare(p, w)))
}

// registry has our plugins as cmd/scheduler registers them; the stock profile runs in
// the stock scheduler.
func registry(p profile) frameworkruntime.Registry {
	if p == stock {
		return nil
	}
	return frameworkruntime.Registry{
		scheduler.Name:     (&scheduler.Factory{}).New,
		teamquota.Name:     (&teamquota.Factory{}).New,
		pricedbinding.Name: (&pricedbinding.Factory{}).New,
	}
}

func writeYAML(b *testing.B, path string, content any) {
	b.Helper()
	text, err := yaml.Marshal(content)
	if err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		b.Fatal(err)
	}
}
