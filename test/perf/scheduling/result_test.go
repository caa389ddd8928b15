package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"wastenot.dev/test/perf/scheduling/pairs"
)

const measured = `{"version": "v1", "dataItems": [
  {"data": {"Average": 60}, "unit": "ms", "labels": {"Metric": "scheduler_pod_scheduling_duration_seconds"}},
  {"data": {"Average": 241.5, "Perc50": 250}, "unit": "pods/s", "labels": {"Metric": "SchedulingThroughput", "Name": "x"}}]}`

func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestReadRun(t *testing.T) {
	const name = "BenchmarkPerfScheduling_benchmark_wastenot_2026-12-01T00:00:00Z.json"
	got := readRun(folder(t, map[string]string{name: measured, "batching.json": `{"hint_used": 30, "no_hint": 10}`}))
	share := 0.75
	if diff := cmp.Diff(pairs.Run{PodsPerSecond: 241.5, Batched: &share}, got); diff != "" {
		t.Errorf("run (-want +got):\n%s", diff)
	}
	got = readRun(folder(t, map[string]string{name: measured, "batching.json": `{}`}))
	if diff := cmp.Diff(pairs.Run{PodsPerSecond: 241.5}, got); diff != "" {
		t.Errorf("run that says nothing of batching (-want +got):\n%s", diff)
	}
}

func TestRunWithoutThroughputIsAnError(t *testing.T) {
	const name = "BenchmarkPerfScheduling_1.json"
	item := func(data string) string {
		return `{"dataItems": [{"data": ` + data + `, "labels": {"Metric": "SchedulingThroughput"}}]}`
	}
	for what, test := range map[string]struct {
		files map[string]string
		want  string
	}{
		"nothing was written":          {nil, "0 files"},
		"the benchmark failed":         {map[string]string{name: `{"version": "v1", "dataItems": null}`}, "no throughput"},
		"too short for a sample":       {map[string]string{name: `{"dataItems": [{"data": null, "unit": "", "labels": {"Name": "x"}}]}`}, "no throughput"},
		"without an average":           {map[string]string{name: item(`{"Perc50": 3}`)}, "no throughput"},
		"zero":                         {map[string]string{name: item(`{"Average": 0}`)}, "0 pods/s"},
		"two":                          {map[string]string{name: strings.ReplaceAll(measured, "scheduler_pod_scheduling_duration_seconds", "SchedulingThroughput")}, "2 throughputs"},
		"cut off":                      {map[string]string{name: measured[:80]}, "unexpected end"},
		"two files":                    {map[string]string{name: measured, "BenchmarkPerfScheduling_2.json": measured}, "2 files"},
		"batching that cannot be read": {map[string]string{name: measured, "batching.json": `[`}, "batching.json"},
	} {
		t.Run(what, func(t *testing.T) {
			if got := readRun(folder(t, test.files)); got.Err == nil || !strings.Contains(got.Err.Error(), test.want) {
				t.Errorf("got %+v, want an error with %q", got, test.want)
			}
		})
	}
}
