package replay

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"wastenot.dev/test/perf/packing/trace"
)

var nodes = []trace.Node{
	{Name: "b", CPUMilli: 8000, MemoryMiB: 100, GPUs: 2, Model: "T4"},
	{Name: "a", CPUMilli: 8000, MemoryMiB: 100, GPUs: 2, Model: "G2"},
}

func gpuPod(name string, gpus int, milli int64) trace.Pod {
	return trace.Pod{Name: name, CPUMilli: 1000, MemoryMiB: 10, GPUs: gpus, GPUMilli: milli}
}

// answer is what a scripted policy says to one pod.
type answer struct {
	node    int
	devices []int
	ok      bool
}

// script answers what it was given, pod by pod.
type script struct {
	answers []answer
	cluster *Cluster
	placed  []string
	meddle  func(*Cluster, *trace.Pod)
}

func (s *script) Place(pod *trace.Pod) (int, []int, bool) {
	if s.meddle != nil {
		s.meddle(s.cluster, pod)
	}
	a := s.answers[0]
	s.answers = s.answers[1:]
	return a.node, a.devices, a.ok
}

func (s *script) Placed(pod *trace.Pod, node int, _ []int) {
	s.placed = append(s.placed, pod.Name+" on "+s.cluster.Nodes[node].Name)
}

func (s *script) play(arrivals ...trace.Pod) (*Result, error) {
	e := &Experiment{Nodes: nodes, Arrivals: arrivals}
	return Run(context.Background(), e, func(c *Cluster, _ uint64) Policy {
		s.cluster = c
		return s
	})
}

func TestRunRefusesWrongPlacements(t *testing.T) {
	t.Parallel()
	picky, hungry, fat := gpuPod("picky", 1, 1000), gpuPod("hungry", 1, 500), gpuPod("fat", 1, 500)
	picky.Models, hungry.CPUMilli, fat.MemoryMiB = []string{"T4", "P100"}, 9000, 101
	half := gpuPod("first", 1, 600)
	tests := map[string]struct {
		pod    trace.Pod
		answer answer
		want   string
	}{
		"no such node":       {gpuPod("p", 1, 500), answer{2, []int{0}, true}, "there is no node 2"},
		"negative node":      {gpuPod("p", 1, 500), answer{-1, []int{0}, true}, "there is no node -1"},
		"CPU":                {hungry, answer{0, []int{0}, true}, "pod hungry on a: it asks for 9000 milli of CPU, 7000 are free"},
		"memory":             {fat, answer{0, []int{0}, true}, "pod fat on a: it asks for 101 MiB of memory, 90 are free"},
		"model":              {picky, answer{0, []int{1}, true}, `one of the models ["T4" "P100"], the node has "G2"`},
		"too few devices":    {gpuPod("p", 2, 1000), answer{1, []int{0}, true}, "asks for 2 devices, the policy gave [0]"},
		"too many devices":   {gpuPod("p", 1, 500), answer{1, []int{0, 1}, true}, "asks for 1 devices, the policy gave [0 1]"},
		"devices for none":   {trace.Pod{Name: "p"}, answer{1, []int{0}, true}, "asks for 0 devices, the policy gave [0]"},
		"device twice":       {gpuPod("p", 2, 1000), answer{1, []int{1, 1}, true}, "device 1 twice"},
		"no such device":     {gpuPod("p", 1, 500), answer{1, []int{2}, true}, "there is no device 2"},
		"negative device":    {gpuPod("p", 1, 500), answer{1, []int{-1}, true}, "there is no device -1"},
		"full device":        {gpuPod("p", 1, 500), answer{0, []int{0}, true}, "asks for 500 milli of device 0, 400 are free"},
		"fits, says it does": {gpuPod("p", 1, 500), answer{}, "pod p: the policy says that it fits nowhere, but it fits on a"},
		"fits on one model":  {picky, answer{}, "fits nowhere, but it fits on b"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &script{answers: []answer{{0, []int{0}, true}, tt.answer}}
			_, err := s.play(half, tt.pod)
			if err == nil {
				t.Fatal("the run goes on")
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("the error does not say %q: %v", tt.want, err)
			}
		})
	}
}

func TestRunRecordsWhatHappens(t *testing.T) {
	t.Parallel()
	s := &script{answers: []answer{{1, []int{1}, true}, {1, []int{1}, true}, {0, nil, true}, {0, []int{1, 0}, true}, {}}}
	result, err := s.play(gpuPod("p1", 1, 600), gpuPod("p2", 1, 400), trace.Pod{Name: "cpu"}, gpuPod("p3", 2, 1000), gpuPod("p4", 2, 1000))
	if err != nil {
		t.Fatal(err)
	}
	want := &Result{
		CapacityMilli: 4000, AllocatedMilli: 3000, ArrivedMilli: 5000,
		Rows: []Row{
			{Seq: 0, Pod: "p1", Node: "b", Devices: []int{1}, Milli: 600},
			{Seq: 1, Pod: "p2", Node: "b", Devices: []int{1}, Milli: 400},
			{Seq: 2, Pod: "cpu", Node: "a"},
			{Seq: 3, Pod: "p3", Node: "a", Devices: []int{1, 0}, Milli: 1000},
			{Seq: 4, Pod: "p4", Milli: 1000},
		},
		Samples:      []int64{3000, 3000, 3000},
		HealthyMilli: 4000, HealthyAllocatedMilli: 3000,
	}
	if diff := cmp.Diff(want, result); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"p1 on b", "p2 on b", "cpu on a", "p3 on a"}, s.placed); diff != "" {
		t.Errorf("the policy was told otherwise: %s", diff)
	}
	if percent, ok := result.AllocatedPercent(110); !ok || percent != 75 {
		t.Errorf("at 110 %% got %v, %t, want 75", percent, ok)
	}
	if _, ok := result.AllocatedPercent(130); ok {
		t.Error("there is a sample at a demand that was not reached")
	}
	var text strings.Builder
	if err := result.WriteCSV(&text); err != nil {
		t.Fatal(err)
	}
	const wantText = `seq,pod,node,devices,milli,status
0,p1,b,1,600,placed
1,p2,b,1,400,placed
2,cpu,a,,0,placed
3,p3,a,1;0,1000,placed
4,p4,,,1000,failed
`
	if diff := cmp.Diff(wantText, text.String()); diff != "" {
		t.Error(diff)
	}
}

// A policy that makes room for itself, or a pod smaller, is found out all the same.
func TestRunDoesNotTrustWhatThePolicyHolds(t *testing.T) {
	t.Parallel()
	s := &script{answers: []answer{{0, []int{0}, true}, {0, []int{0}, true}}}
	s.meddle = func(c *Cluster, pod *trace.Pod) {
		c.Nodes[0].FreeMilli[0] = 1000
		pod.GPUMilli = 1
	}
	if _, err := s.play(gpuPod("p1", 1, 600), gpuPod("p2", 1, 600)); err == nil || !strings.Contains(err.Error(), "pod p2 on a") {
		t.Errorf("error %v", err)
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := Run(ctx, &Experiment{Nodes: nodes, Arrivals: make([]trace.Pod, 1)}, func(*Cluster, uint64) Policy { return &script{} })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

type brokenWriter struct{}

var errFull = errors.New("disk full")

func (brokenWriter) Write([]byte) (int, error) { return 0, errFull }

func TestWriteCSVSaysWhatWentWrong(t *testing.T) {
	t.Parallel()
	if err := (&Result{Rows: []Row{{Pod: "p"}}}).WriteCSV(brokenWriter{}); !errors.Is(err, errFull) {
		t.Errorf("error %v", err)
	}
}
