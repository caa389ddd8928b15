package replay

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"wastenot.dev/test/perf/packing/trace"
)

// watcher is a script that notes what it is told of faults.
type watcher struct {
	*script

	seen []string
}

func (w *watcher) Changed(node int) {
	w.seen = append(w.seen, fmt.Sprint(w.cluster.Nodes[node].Name, w.cluster.Nodes[node].FreeMilli))
}

func TestFaultsAreShownAndKept(t *testing.T) {
	t.Parallel()
	badWhileOneArrives := []Fault{{From: 1, Until: 2, Node: 0, Device: 0}}
	three := []trace.Pod{gpuPod("p0", 1, 500), gpuPod("p1", 1, 500), gpuPod("p2", 1, 500)}
	tests := map[string]struct {
		blind   bool
		answers []answer
		// wantErr is part of the error, empty for none.
		wantErr, wantSeen string
		wantOnBad         int
	}{
		"avoided":                 {answers: []answer{{0, []int{0}, true}, {0, []int{1}, true}, {0, []int{0}, true}}, wantSeen: "a[0 1000] a[500 500]"},
		"not avoided":             {answers: []answer{{0, []int{0}, true}, {0, []int{0}, true}}, wantErr: "pod p1 on a: it asks for 500 milli of device 0, 0 are free"},
		"not avoided, unseen":     {blind: true, answers: []answer{{0, []int{0}, true}, {0, []int{0}, true}, {0, []int{1}, true}}, wantSeen: "a[500 1000] a[0 1000]", wantOnBad: 1},
		"given up, others fit":    {answers: []answer{{0, []int{0}, true}, {}}, wantErr: "fits nowhere, but it fits on a"},
		"what it holds stays its": {answers: []answer{{0, []int{0}, true}, {1, []int{0}, true}, {0, []int{0}, true}}, wantSeen: "a[0 1000] a[500 1000]"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &watcher{script: &script{answers: tt.answers}}
			e := &Experiment{Nodes: nodes, Arrivals: three, Faults: badWhileOneArrives, Blind: tt.blind}
			result, err := Run(t.Context(), e, func(c *Cluster, _ uint64) Policy {
				w.cluster = c
				return w
			})
			if tt.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tt.wantErr) {
					t.Fatalf("error %v, want one that says %q", err, tt.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(w.seen, " "); got != tt.wantSeen {
				t.Errorf("the policy saw %s, want %s", got, tt.wantSeen)
			}
			if result.OnBadDevices != tt.wantOnBad {
				t.Errorf("%d pods on bad devices, want %d", result.OnBadDevices, tt.wantOnBad)
			}
			if result.HealthyMilli != 4000 || result.HealthyAllocatedMilli != 1500 {
				t.Errorf("%d of %d milli of good devices are given out, want 1500 of 4000", result.HealthyAllocatedMilli, result.HealthyMilli)
			}
		})
	}
}

func TestOnlyGoodDevicesCountInTheEnd(t *testing.T) {
	t.Parallel()
	s := &script{answers: []answer{{0, []int{0}, true}, {1, []int{0}, true}}}
	e := &Experiment{Nodes: nodes, Arrivals: []trace.Pod{gpuPod("p0", 1, 500), gpuPod("p1", 1, 300)}, Faults: []Fault{{From: 1, Until: 9, Node: 0, Device: 0}}}
	result, err := Run(t.Context(), e, func(c *Cluster, _ uint64) Policy {
		s.cluster = c
		return s
	})
	if err != nil {
		t.Fatal(err)
	}
	if result.HealthyMilli != 3000 || result.HealthyAllocatedMilli != 300 {
		t.Errorf("%d of %d milli of good devices are given out, want 300 of 3000", result.HealthyAllocatedMilli, result.HealthyMilli)
	}
}

func TestDrawFaultsHitsTheShare(t *testing.T) {
	t.Parallel()
	const arrivals, share = 5000, 0.1
	var fleet []trace.Node
	for i := range 200 {
		fleet = append(fleet, trace.Node{Name: fmt.Sprint(i), GPUs: 8})
	}
	c := NewCluster(fleet, nil)
	faults := DrawFaults(c, arrivals, share, 500, 1)
	var bad, last int
	for _, f := range faults {
		if f.From < last || f.Until <= f.From {
			t.Fatalf("fault %+v is out of order or empty", f)
		}
		last = f.From
		bad += min(f.Until, arrivals) - f.From
	}
	if got := float64(bad) / (arrivals * 200 * 8); math.Abs(got-share) > 0.005 {
		t.Errorf("%.3f of the devices are bad in the mean, want %v", got, share)
	}
	if again := DrawFaults(c, arrivals, share, 500, 1); len(again) != len(faults) || again[0] != faults[0] {
		t.Error("the same seed draws other faults")
	}
	if other := DrawFaults(c, arrivals, share, 500, 2); len(other) == len(faults) && other[0] == faults[0] {
		t.Error("another seed draws the same faults")
	}
}
