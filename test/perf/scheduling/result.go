package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"wastenot.dev/test/perf/scheduling/pairs"
)

// measurements is the file that scheduler_perf writes, as far as it is read.
type measurements struct {
	DataItems []struct {
		Data   map[string]float64 `json:"data"`
		Labels map[string]string  `json:"labels"`
	} `json:"dataItems"`
}

// readRun reads what a run left in its folder. scheduler_perf writes its file also when
// the benchmark failed, and leaves the throughput out of it when there was no time to
// sample one.
func readRun(dir string) pairs.Run {
	files, err := filepath.Glob(filepath.Join(dir, "BenchmarkPerfScheduling_*.json"))
	if err != nil || len(files) != 1 {
		return pairs.Run{Err: fmt.Errorf("the run left %d files with measurements, want one", len(files))}
	}
	var m measurements
	if err := readJSON(files[0], &m); err != nil {
		return pairs.Run{Err: err}
	}
	run := pairs.Run{}
	if run.PodsPerSecond, run.Err = m.throughput(); run.Err != nil {
		return run
	}
	run.Batched, run.Err = readBatched(filepath.Join(dir, "batching.json"))
	return run
}

// throughput is the mean in pods a second.
func (m *measurements) throughput() (float64, error) {
	var found []float64
	for _, item := range m.DataItems {
		if item.Labels["Metric"] != "SchedulingThroughput" {
			continue
		}
		if average, ok := item.Data["Average"]; ok {
			found = append(found, average)
		}
	}
	switch {
	case len(found) == 0:
		return 0, errors.New("the run measured no throughput")
	case len(found) > 1:
		return 0, fmt.Errorf("the run measured %d throughputs, want one", len(found))
	case !(found[0] > 0):
		return 0, fmt.Errorf("the run measured %v pods/s", found[0])
	}
	return found[0], nil
}

// readBatched returns the share of attempts that used a batch; nil when nothing says.
func readBatched(path string) (*float64, error) {
	var attempts map[string]float64
	err := readJSON(path, &attempts)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // Not known is no error.
	}
	if err != nil {
		return nil, err
	}
	all := 0.0
	for _, count := range attempts {
		all += count
	}
	if all == 0 {
		return nil, nil //nolint:nilnil // As above.
	}
	share := attempts["hint_used"] / all
	return &share, nil
}

func readJSON(path string, into any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("reading measurements: %w", err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("reading %s: %w", filepath.Base(path), err)
	}
	return nil
}
