package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"

	"wastenot.dev/test/perf/scheduling/pairs"
	"wastenot.dev/test/perf/scheduling/workload"
)

var twoWorkloads = []workload.Workload{
	{Kind: workload.GPU, Nodes: 1, Constraints: workload.System}, {Kind: workload.DRA, Nodes: 2, Constraints: workload.None},
}

func TestSidesAlternateAndSwap(t *testing.T) {
	var calls []string
	c := &campaign{pairs: 3, workloads: twoWorkloads, progress: io.Discard, measure: func(_ context.Context, w workload.Workload, pair int, s side) pairs.Run {
		calls = append(calls, fmt.Sprint(w.Name(), " ", pair, " ", s))
		if s == stock {
			return pairs.Run{PodsPerSecond: float64(pair)}
		}
		return pairs.Run{PodsPerSecond: float64(10 * pair)}
	}}
	saved := 0
	got := c.run(t.Context(), func(series []pairs.Series) error {
		saved++
		if len(series) != saved {
			t.Errorf("after workload %d there are %d series", saved, len(series))
		}
		return nil
	})
	wantCalls := []string{
		"gpu-1/system 1 stock", "gpu-1/system 1 ours", "gpu-1/system 2 ours", "gpu-1/system 2 stock", "gpu-1/system 3 stock", "gpu-1/system 3 ours",
		"dra-2/none 1 stock", "dra-2/none 1 ours", "dra-2/none 2 ours", "dra-2/none 2 stock", "dra-2/none 3 stock", "dra-2/none 3 ours",
	}
	if diff := cmp.Diff(wantCalls, calls); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
	want := []pairs.Pair{{Stock: pairs.Run{PodsPerSecond: 1}, Ours: pairs.Run{PodsPerSecond: 10}}, {Stock: pairs.Run{PodsPerSecond: 2}, Ours: pairs.Run{PodsPerSecond: 20}}, {Stock: pairs.Run{PodsPerSecond: 3}, Ours: pairs.Run{PodsPerSecond: 30}}}
	if len(got) != 2 {
		t.Fatalf("%d series, want 2", len(got))
	}
	if diff := cmp.Diff(want, got[0].Pairs); diff != "" {
		t.Errorf("pairs (-want +got):\n%s", diff)
	}
}

func TestWhatEndsInTheMiddleOfAPairIsLeftOut(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	runs := 0
	c := &campaign{pairs: 7, workloads: twoWorkloads, progress: io.Discard, measure: func(context.Context, workload.Workload, int, side) pairs.Run {
		if runs++; runs == 4 {
			cancel()
			return pairs.Run{Err: errors.New("ended")}
		}
		return pairs.Run{PodsPerSecond: 1}
	}}
	got := c.run(ctx, func([]pairs.Series) error { return nil })
	if runs != 4 || len(got) != 1 || len(got[0].Pairs) != 1 || got[0].Failed() != 0 {
		t.Errorf("after %d runs there is %+v, want one pair and no failure", runs, got)
	}
}

func TestNothingMoreIsMeasuredThatCannotBeKept(t *testing.T) {
	runs := 0
	c := &campaign{pairs: 1, workloads: twoWorkloads, progress: io.Discard, measure: func(context.Context, workload.Workload, int, side) pairs.Run {
		runs++
		return pairs.Run{PodsPerSecond: 1}
	}}
	if got := c.run(t.Context(), func([]pairs.Series) error { return errors.New("disk full") }); len(got) != 1 || runs != 2 {
		t.Errorf("%d series after %d runs, want 1 after 2", len(got), runs)
	}
}
