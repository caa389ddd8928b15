package policy

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"wastenot.dev/test/perf/packing/replay"
	"wastenot.dev/test/perf/packing/trace"
)

// TestPooled: slices fill one device after the other and keep off whole devices, and whole
// devices are taken in order; what fits nowhere gets nothing.
func TestPooled(t *testing.T) {
	t.Parallel()
	pool := func(model string) Pool {
		if model == "sliced" {
			return Pool{Resource: "slices", Units: 2}
		}
		return Pool{Resource: "whole", Units: 1}
	}
	slice := trace.Pod{CPUMilli: 1000, MemoryMiB: 1, GPUs: 1, GPUMilli: trace.WholeMilli / 2, Models: []string{"sliced"}}
	two := trace.Pod{CPUMilli: 1000, MemoryMiB: 1, GPUs: 2, GPUMilli: trace.WholeMilli, Models: []string{"b", "a"}}
	onB := two
	onB.GPUs, onB.Models = 1, []string{"b"}
	experiment := &replay.Experiment{
		Nodes: []trace.Node{
			{Name: "0", CPUMilli: 16000, MemoryMiB: 16, GPUs: 2, Model: "sliced"},
			{Name: "1", CPUMilli: 16000, MemoryMiB: 16, GPUs: 2, Model: "a"},
			{Name: "2", CPUMilli: 16000, MemoryMiB: 16, GPUs: 2, Model: "b"},
		},
		Arrivals: []trace.Pod{slice, slice, slice, onB, two, two, slice, slice, onB},
	}
	result, err := replay.Run(t.Context(), experiment, NewPooled(pool))
	if err != nil {
		t.Fatal(err)
	}
	type place struct {
		Node    string
		Devices []int
	}
	want := []place{
		{"0", []int{0}}, {"0", []int{0}}, {"0", []int{1}}, {"2", []int{0}}, {"1", []int{0, 1}}, {}, {"0", []int{1}}, {}, {"2", []int{1}},
	}
	var got []place
	for i := range result.Rows {
		got = append(got, place{result.Rows[i].Node, result.Rows[i].Devices})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestPooledRequests: a pod asks for the resource of its models, in units, and names
// products only where not all that offer the resource will do.
func TestPooledRequests(t *testing.T) {
	t.Parallel()
	c := cluster(nil, trace.Node{Name: "0", GPUs: 1, Model: "a"}, trace.Node{Name: "1", GPUs: 1, Model: "b"}, trace.Node{Name: "2", GPUs: 1, Model: "c"})
	w, _ := NewPooled(func(string) Pool { return Pool{Resource: "whole", Units: 1} })(c, 0).(*wastenot)
	for name, test := range map[string]struct {
		models []string
		want   string
	}{
		"one":          {[]string{"b"}, "b"},
		"some, sorted": {[]string{"c", "a", "c"}, "a|c"},
		"all":          {[]string{"c", "b", "a"}, ""},
	} {
		r := w.view.request(&trace.Pod{GPUs: 1, GPUMilli: trace.WholeMilli, Models: test.models})
		if r.Products != test.want || r.Kind != "whole" || r.Count != 1 || r.Milli != 1000 {
			t.Errorf("%s: %+v, want products %q", name, r, test.want)
		}
	}
}
