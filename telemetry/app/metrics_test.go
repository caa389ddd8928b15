package app

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/telemetry/health"
	"wastenot.dev/telemetry/sample"
)

func TestMetrics(t *testing.T) {
	t.Parallel()
	s, clock := newService(t, "node-1", "node-2")
	mig := batch("node-1", "GPU-a", sample.Known(0))
	mig.Devices[0].MIG = true
	mig.Devices[0].Partitions = []sample.Partition{{GI: "7", CI: "0", Profile: "1g.5gb"}}
	mig.Devices[0].Partitions[0].Fields[sample.EngineActive] = sample.Known(0.9)
	if err := s.store.Accept(mig); err != nil {
		t.Fatal(err)
	}
	// Never read: what a record holds against it is all that is known.
	s.store.Seed("node-2", "GPU-b", "NVIDIA T4", []health.Finding{{Code: "RowRemapPending", Grade: v1alpha1.GradeDegraded}}, false)
	clock.Step(90 * time.Second)
	s.store.Tick()

	want := `
# HELP wastenot_device_activity 1 for the device's activity, 0 for the others; per MIG instance where gi is set.
# TYPE wastenot_device_activity gauge
` + oneOf(`wastenot_device_activity{activity="?",ci="",gi="",index="",node="node-2",profile="",uuid="GPU-b"}`, "Unknown", activityNames...) +
		oneOf(`wastenot_device_activity{activity="?",ci="",gi="",index="0",node="node-1",profile="",uuid="GPU-a"}`, "Unknown", activityNames...) +
		oneOf(`wastenot_device_activity{activity="?",ci="0",gi="7",index="0",node="node-1",profile="1g.5gb",uuid="GPU-a"}`, "Unknown", activityNames...) + `
# HELP wastenot_device_grade 1 for the device's grade, 0 for the others. Unknown is a grade of its own.
# TYPE wastenot_device_grade gauge
` + oneOf(`wastenot_device_grade{grade="?",index="",node="node-2",uuid="GPU-b"}`, "Unknown", gradeNames...) +
		oneOf(`wastenot_device_grade{grade="?",index="0",node="node-1",uuid="GPU-a"}`, "Unknown", gradeNames...) + `
# HELP wastenot_device_info What the device is; the value is always 1.
# TYPE wastenot_device_info gauge
wastenot_device_info{index="",model="NVIDIA T4",node="node-2",node_group="pool-a",uuid="GPU-b",vendor="nvidia"} 1
wastenot_device_info{index="0",model="NVIDIA L4",node="node-1",node_group="pool-a",uuid="GPU-a",vendor="nvidia"} 1
# HELP wastenot_device_sample_age_seconds Age of the device's readings. Absent for a device that was never read.
# TYPE wastenot_device_sample_age_seconds gauge
wastenot_device_sample_age_seconds{index="0",node="node-1",uuid="GPU-a"} 90
# HELP wastenot_fleet_generation Generation of the fleet snapshot.
# TYPE wastenot_fleet_generation gauge
wastenot_fleet_generation 3
`
	if err := testutil.GatherAndCompare(s.registry, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
}

var (
	gradeNames    = []string{"Healthy", "Suspect", "Degraded", "Failed", "Unknown"}
	activityNames = []string{"Busy", "LowEfficiency", "HeldIdle", "HeldNoProcess", "Unallocated", "Unknown"}
)

// oneOf writes a series for each value, 1 for the one that is.
func oneOf(series, is string, values ...string) string {
	var out strings.Builder
	for _, value := range values {
		out.WriteString(strings.Replace(series, "?", value, 1))
		if value == is {
			out.WriteString(" 1\n")
		} else {
			out.WriteString(" 0\n")
		}
	}
	return out.String()
}

// TestAgeIsThatOfTheLastReading: a reading that changes nothing is not published, and is
// young all the same.
func TestAgeIsThatOfTheLastReading(t *testing.T) {
	t.Parallel()
	s, clock := newService(t, "node-1")
	for range 2 {
		again := batch("node-1", "GPU-a", sample.Known(0))
		again.ObservedAt = clock.Now()
		if err := s.store.Accept(again); err != nil {
			t.Fatal(err)
		}
		clock.Step(2 * time.Second)
	}
	want := `
# HELP wastenot_device_sample_age_seconds Age of the device's readings. Absent for a device that was never read.
# TYPE wastenot_device_sample_age_seconds gauge
wastenot_device_sample_age_seconds{index="0",node="node-1",uuid="GPU-a"} 2
`
	if err := testutil.GatherAndCompare(s.registry, strings.NewReader(want), "wastenot_device_sample_age_seconds"); err != nil {
		t.Error(err)
	}
}

func TestGradeMetricFollowsTheGrade(t *testing.T) {
	t.Parallel()
	s, _ := newService(t, "node-1")
	if err := s.store.Accept(batch("node-1", "GPU-a", sample.Known(79))); err != nil {
		t.Fatal(err)
	}
	want := `
# HELP wastenot_device_grade 1 for the device's grade, 0 for the others. Unknown is a grade of its own.
# TYPE wastenot_device_grade gauge
` + oneOf(`wastenot_device_grade{grade="?",index="0",node="node-1",uuid="GPU-a"}`, "Failed", gradeNames...)
	if err := testutil.GatherAndCompare(s.registry, strings.NewReader(want), "wastenot_device_grade"); err != nil {
		t.Error(err)
	}
}

func TestMetricsAreLinted(t *testing.T) {
	t.Parallel()
	s, _ := newService(t, "node-1")
	s.testSink().Accept(batch("node-1", "GPU-a", sample.Known(0)))
	problems, err := testutil.GatherAndLint(s.registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

func TestHTTP(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		method, path string
		ready        bool
		want         int
		wantSay      string
	}{
		"alive before it is ready": {http.MethodGet, "/livez", false, http.StatusOK, "ok"},
		"not ready":                {http.MethodGet, "/readyz", false, http.StatusServiceUnavailable, "not served yet"},
		"ready":                    {http.MethodGet, "/readyz", true, http.StatusOK, "ok"},
		"metrics":                  {http.MethodGet, "/metrics", false, http.StatusOK, "wastenot_fleet_generation 1"},
		"nothing is written":       {http.MethodPost, "/metrics", true, http.StatusMethodNotAllowed, ""},
		"no such page":             {http.MethodGet, "/", true, http.StatusNotFound, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := newService(t, "node-1")
			if err := s.store.Accept(batch("node-1", "GPU-a", sample.Known(0))); err != nil {
				t.Fatal(err)
			}
			s.ready.Store(test.ready)
			response := httptest.NewRecorder()
			s.handler().ServeHTTP(response, httptest.NewRequestWithContext(t.Context(), test.method, test.path, http.NoBody))
			if response.Code != test.want || !strings.Contains(response.Body.String(), test.wantSay) {
				t.Errorf("got %d %q, want %d %q", response.Code, response.Body, test.want, test.wantSay)
			}
		})
	}
}

func TestSinkCountsOutcomes(t *testing.T) {
	t.Parallel()
	s, _ := newService(t, "node-1", "node-2")
	sink := s.testSink()
	good := batch("node-1", "GPU-a", sample.Known(0))
	good.Problems = []sample.Problem{{Where: "line 3", Why: "no metric"}, {Where: "line 4", Why: "no metric"}}
	sink.Accept(good)
	sink.Accept(batch("", "GPU-a", sample.Known(0)))
	sink.Accept(batch("nvidia-dcgm-exporter-drqwq", "GPU-a", sample.Known(0)))
	sink.Accept(batch("node-2", "GPU-a", sample.Known(0))) // which node-1 has
	sink.Failed(dcgmTarget, errRefused, midnight)
	want := `
# HELP wastenot_telemetry_scrape_problems_total Parts of expositions that could not be used.
# TYPE wastenot_telemetry_scrape_problems_total counter
wastenot_telemetry_scrape_problems_total 2
# HELP wastenot_telemetry_scrapes_total Reads of exporters by outcome: read, failed, or refused where readings were not believed.
# TYPE wastenot_telemetry_scrapes_total counter
wastenot_telemetry_scrapes_total{outcome="failed"} 1
wastenot_telemetry_scrapes_total{outcome="read"} 1
wastenot_telemetry_scrapes_total{outcome="refused"} 3
`
	if err := testutil.GatherAndCompare(s.registry, strings.NewReader(want), "wastenot_telemetry_scrapes_total", "wastenot_telemetry_scrape_problems_total"); err != nil {
		t.Error(err)
	}
	if got := len(s.store.Snapshot().Nodes); got != 1 {
		t.Errorf("%d nodes are published", got)
	}
}

// A wrong target is told once and not with every read of it.
func TestRefusalIsNewsOnce(t *testing.T) {
	t.Parallel()
	s, _ := newService(t)
	sink := s.testSink()
	var news []bool
	for _, err := range []error{errRefused, errRefused, errOther, errOther, nil, errOther} {
		_, is := sink.refused("http://a", err)
		news = append(news, is)
	}
	if diff := cmp.Diff([]bool{true, false, true, false, false, true}, news); diff != "" {
		t.Errorf("news (-want +got):\n%s", diff)
	}
	if _, is := sink.refused("http://b", errOther); !is {
		t.Error("another endpoint is news of its own")
	}
}
