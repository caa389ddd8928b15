package policy

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"wastenot.dev/test/perf/packing/replay"
	"wastenot.dev/test/perf/packing/trace"
)

// unexported lets cmp.Diff look into shapes.
var unexported = cmp.AllowUnexported(typicalPod{}, shape{})

func pods(count int, pod trace.Pod) []trace.Pod { return slices.Repeat([]trace.Pod{pod}, count) }

var (
	cpuOnly = trace.Pod{CPUMilli: 4000}
	half    = trace.Pod{CPUMilli: 2000, GPUs: 1, GPUMilli: 500}
	whole   = trace.Pod{CPUMilli: 4000, GPUs: 1, GPUMilli: 1000}
	pair    = trace.Pod{CPUMilli: 8000, GPUs: 2, GPUMilli: 1000, Models: []string{"G2", "G3"}}
)

func TestTypicalPodsCoverTheWorkload(t *testing.T) {
	t.Parallel()
	common := slices.Concat(pods(60, half), pods(20, whole), pods(15, cpuOnly))
	tests := map[string]struct {
		workload []trace.Pod
		want     []int64 // counts
	}{
		"just enough":     {slices.Concat(common, pods(5, pair)), []int64{60, 20, 15}},
		"one more":        {slices.Concat(common[1:], pods(6, pair)), []int64{59, 20, 15, 6}},
		"all of one kind": {pods(3, half), []int64{3}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var counts []int64
			for _, typical := range typicalPods(tt.workload) {
				counts = append(counts, typical.count)
			}
			if diff := cmp.Diff(tt.want, counts); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Of equally frequent shapes the larger is typical.
func TestTypicalPodsOrderEquals(t *testing.T) {
	t.Parallel()
	big, small := half, half
	big.GPUMilli, small.GPUMilli = 600, 400
	got := typicalPods(slices.Concat(pods(1, small), pods(1, half), pods(1, big), pods(1, pair)))
	want := []typicalPod{{shapeOf(&pair), 1}, {shapeOf(&big), 1}, {shapeOf(&half), 1}, {shapeOf(&small), 1}}
	if diff := cmp.Diff(want, got, unexported); diff != "" {
		t.Error(diff)
	}
}

// The workload: half of the pods are half, the others whole, CPU-only and pair.
var byHand = slices.Concat(pods(5, half), pods(2, whole), pods(2, cpuOnly), pods(1, pair))

func TestFragmentsByHand(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		model string
		cpu   int64
		free  []int64
		want  int64 // count x milli: half 5, whole 2, CPU-only 2, pair 1
	}{
		"nothing free":       {"G2", 16000, []int64{0, 0}, 0},
		"untouched":          {"G2", 16000, []int64{1000, 1000}, 2 * 2000},
		"wrong model":        {"T4", 16000, []int64{1000, 1000}, 2*2000 + 2000},
		"one device broken":  {"G2", 16000, []int64{1000, 600}, 2*600 + 2*1600 + 1600},
		"too little for all": {"G2", 16000, []int64{400, 300}, 10 * 700},
		"CPU for half only":  {"G2", 3000, []int64{1000, 1000}, 2*2000 + 2*2000 + 2000},
		"no CPU":             {"G2", 0, []int64{1000, 500}, 10 * 1500},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFragments(typicalPods(byHand), []string{"G2", "T4"})
			if got := f.weighted(tt.model, tt.cpu, tt.free); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}

// Half a device goes to the one that is broken already.
func TestFGDByHand(t *testing.T) {
	t.Parallel()
	c := cluster(byHand, trace.Node{Name: "a", CPUMilli: 16000, MemoryMiB: 10, GPUs: 2, Model: "G2"}, trace.Node{Name: "b", CPUMilli: 16000, MemoryMiB: 10, GPUs: 2, Model: "G2"})
	c.Nodes[0].FreeMilli = []int64{1000, 600}
	policy := newFGD(c, 1)
	fgd, _ := policy.(*fgd)
	// F before on a: 2*600 + 2*1600 + 1600 = 6000 of weight 10, that is 0.6 devices.
	// Device 0 leaves 500, 600: 2*1100 (whole) + 2*1100 + 1100 = 5500, gain 0.05: 51.2.
	// Device 1 leaves 1000, 100: 5*100 + 2*100 + 2*1100 + 1100 = 4000, gain 0.2: 54.98.
	// F before on b: 2*2000 = 4000; after 500, 1000: 2*500 + 2*1500 + 1500 = 5500, gain -0.15: 46.3.
	for node, want := range map[int]scored{0: {score: 54, device: 1}, 1: {score: 46, device: 0}} {
		got := fgd.score(node, &half)
		if got.score != want.score || got.device != want.device {
			t.Errorf("node %d scores %d on device %d, want %d on %d", node, got.score, got.device, want.score, want.device)
		}
	}
	if node, devices, ok := policy.Place(&half); node != 0 || !slices.Equal(devices, []int{1}) || !ok {
		t.Errorf("placed on node %d, devices %v, %t; want node 0, device 1", node, devices, ok)
	}
	if _, _, ok := policy.Place(&trace.Pod{GPUs: 1, GPUMilli: 500, MemoryMiB: 11}); ok {
		t.Error("placed a pod that has too little memory")
	}
}

func cluster(workload []trace.Pod, nodes ...trace.Node) *replay.Cluster {
	return replay.NewCluster(nodes, workload)
}
