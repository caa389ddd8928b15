package policy

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"wastenot.dev/test/perf/packing/replay"
	"wastenot.dev/test/perf/packing/trace"
)

func TestUnknownPolicy(t *testing.T) {
	t.Parallel()
	_, err := New("magic")
	if err == nil || !strings.Contains(err.Error(), `unknown policy "magic"`) || !strings.Contains(err.Error(), strings.Join(Names(), ", ")) {
		t.Errorf("error %v", err)
	}
}

// Run refuses wrong answers, so this holds every policy to the rules on a cluster that
// gets full.
func TestPoliciesKeepTheRules(t *testing.T) {
	t.Parallel()
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			construct, err := New(name)
			if err != nil {
				t.Fatal(err)
			}
			for seed := range uint64(5) {
				first := play(t, construct, seed)
				if failed := countFailed(first); failed == 0 || failed == len(first.Rows) {
					t.Errorf("seed %d: %d of %d pods did not fit, want some", seed, failed, len(first.Rows))
				}
				if diff := cmp.Diff(first, play(t, construct, seed)); diff != "" {
					t.Errorf("seed %d: the same seed gives other placements: %s", seed, diff)
				}
			}
		})
	}
}

// twin asks a new policy, which has nothing cached, beside the one that goes along.
type twin struct {
	t       *testing.T
	cluster *replay.Cluster
	seed    uint64
	old     *fgd
}

func (w *twin) Place(pod *trace.Pod) (int, []int, bool) {
	node, devices, ok := w.old.Place(pod)
	wantNode, wantDevices, wantOK := newFGD(w.cluster, w.seed).Place(pod)
	if node != wantNode || !slices.Equal(devices, wantDevices) || ok != wantOK {
		w.t.Errorf("pod %s: node %d, devices %v, %t with the cache; %d, %v, %t without", pod.Name, node, devices, ok, wantNode, wantDevices, wantOK)
	}
	return node, devices, ok
}

func (w *twin) Placed(pod *trace.Pod, node int, devices []int) { w.old.Placed(pod, node, devices) }

func TestFGDCacheChangesNothing(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		play(t, func(c *replay.Cluster, seed uint64) replay.Policy {
			old, _ := newFGD(c, seed).(*fgd)
			return &twin{t: t, cluster: c, seed: seed, old: old}
		}, seed)
	}
}

func TestBestFitFillsWhatIsFullest(t *testing.T) {
	t.Parallel()
	c := cluster(nil,
		trace.Node{Name: "a", CPUMilli: 16000, GPUs: 4}, trace.Node{Name: "b", CPUMilli: 16000, GPUs: 4}, trace.Node{Name: "c", CPUMilli: 16000, GPUs: 4})
	c.Nodes[1].FreeMilli = []int64{0, 1000, 700, 600}
	c.Nodes[2].FreeMilli = []int64{0, 0, 400, 400}
	tests := map[string]struct {
		pod         trace.Pod
		wantNode    int
		wantDevices []int
	}{
		"the tightest device": {half, 1, []int{3}},
		"a whole one":         {whole, 1, []int{1}},
		"two whole ones":      {trace.Pod{GPUs: 2, GPUMilli: 1000}, 0, []int{0, 1}},
		"no device":           {cpuOnly, 2, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(5) {
				node, devices, ok := newBestFit(c, seed).Place(&tt.pod)
				if !ok || node != tt.wantNode || !slices.Equal(devices, tt.wantDevices) {
					t.Errorf("placed on node %d, devices %v, %t; want %d, %v", node, devices, ok, tt.wantNode, tt.wantDevices)
				}
			}
		})
	}
}

// Each place where a pod fits is drawn now and then.
func TestRandomDrawsAll(t *testing.T) {
	t.Parallel()
	c := cluster(nil, trace.Node{Name: "a", CPUMilli: 9000, GPUs: 2}, trace.Node{Name: "b", CPUMilli: 9000, GPUs: 3})
	c.Nodes[1].FreeMilli[1] = 499
	drawn := map[[2]int]bool{}
	policy := newRandom(c, 1)
	for range 200 {
		node, devices, _ := policy.Place(&half)
		drawn[[2]int{node, devices[0]}] = true
	}
	want := map[[2]int]bool{{0, 0}: true, {0, 1}: true, {1, 0}: true, {1, 2}: true}
	if diff := cmp.Diff(want, drawn); diff != "" {
		t.Error(diff)
	}
}

func play(t *testing.T, construct replay.Constructor, seed uint64) *replay.Result {
	t.Helper()
	dir := filepath.Join("..", "testdata", "small")
	nodes, err := trace.ReadNodes(trace.NodeFile(dir))
	if err != nil {
		t.Fatal(err)
	}
	workload, err := trace.ReadPods(trace.PodFile(dir, "small"))
	if err != nil {
		t.Fatal(err)
	}
	arrivals, err := trace.Tune(workload, seed, 1.3, trace.CapacityMilli(nodes))
	if err != nil {
		t.Fatal(err)
	}
	result, err := replay.Run(context.Background(), &replay.Experiment{Nodes: nodes, Workload: workload, Arrivals: arrivals, Seed: seed}, construct)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func countFailed(result *replay.Result) int {
	failed := 0
	for i := range result.Rows {
		if result.Rows[i].Node == "" {
			failed++
		}
	}
	return failed
}
