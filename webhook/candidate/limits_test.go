package candidate

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"

	"wastenot.dev/internal/accelerator"
)

// TestACutSearchSaysSo: at a limit the search is complete, beyond it is cut.
func TestACutSearchSaysSo(t *testing.T) {
	c := &cluster{slices: map[string][]*resourceapi.ResourceSlice{}, classes: []*resourceapi.DeviceClass{class("mig.nvidia.com", isMIG, nil)}}
	for i := range 10 {
		name := fmt.Sprint("n", i)
		c.nodes = append(c.nodes, node(name, fmt.Sprint("type-", i%5), nil))
		c.slices[name] = []*resourceapi.ResourceSlice{slice(name, dev("0", "type", "mig", "profile", "1g.5gb"), dev("1", "type", "mig", "profile", "2g.10gb"))}
	}
	pod := claiming(c, 0, requesting(request(alternative("x", "mig.nvidia.com", 1)), request(alternative("x", "mig.nvidia.com", 2))))
	demand, err := accelerator.DemandOf(pod, c, nil)
	if err != nil {
		t.Fatal(err)
	}
	// Both devices of one node of each type are tried for both requests.
	const evaluations = 5 * 2 * 2
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	tests := map[string]struct {
		ctx          context.Context
		change       func(*limits)
		want         int
		wantComplete bool
	}{
		"no limit":                {want: 20, wantComplete: true},
		"as many nodes":           {change: func(l *limits) { l.nodes = 10 }, want: 20, wantComplete: true},
		"more nodes":              {change: func(l *limits) { l.nodes = 2 }, want: 8},
		"more nodes, of no kind":  {change: func(l *limits) { l.nodes = 9 }, want: 20},
		"as many kinds":           {change: func(l *limits) { l.kinds = 5 }, want: 20, wantComplete: true},
		"more kinds":              {change: func(l *limits) { l.kinds = 4 }, want: 16},
		"as many mixes":           {change: func(l *limits) { l.mixes = 4 }, want: 20, wantComplete: true},
		"more mixes":              {change: func(l *limits) { l.mixes = 3 }, want: 15},
		"as many evaluations":     {change: func(l *limits) { l.evaluations = evaluations }, want: 20, wantComplete: true},
		"more evaluations":        {change: func(l *limits) { l.evaluations = evaluations - 1 }, want: 16},
		"the end of the question": {ctx: ended},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			finder := NewFinder(c)
			if test.change != nil {
				test.change(&finder.limits)
			}
			if test.ctx == nil {
				test.ctx = t.Context()
			}
			got, complete := finder.Options(test.ctx, pod, demand, nil)
			if len(got) != test.want || complete != test.wantComplete {
				t.Errorf("%d options, complete %v; want %d, %v", len(got), complete, test.want, test.wantComplete)
			}
		})
	}
}

// TestNodesThatSelectorsExcludeAreNotCounted: a pod that is pinned to the last of many
// nodes is priced there.
func TestNodesThatSelectorsExcludeAreNotCounted(t *testing.T) {
	c := &cluster{}
	for i := range 20 {
		c.nodes = append(c.nodes, node(fmt.Sprintf("n%02d", i), fmt.Sprint("type-", i), eight()))
	}
	finder := NewFinder(c)
	finder.limits.nodes = 1
	pod := &corev1.Pod{Spec: corev1.PodSpec{NodeSelector: map[string]string{corev1.LabelHostname: "n19"}}}
	got, complete := finder.Options(t.Context(), pod, []accelerator.Demand{{Class: gpu, Kind: accelerator.KindDevice, Count: 1}}, nil)
	if len(got) != 1 || !complete {
		t.Errorf("%v, complete %v, want the last node and nothing missing", shown(got), complete)
	}
}

// TestWhatIsNotFoundIsMissing: a claim that the snapshot lost may be of anything.
func TestWhatIsNotFoundIsMissing(t *testing.T) {
	c := &cluster{nodes: []*corev1.Node{node("a", "p5", eight())}, classes: []*resourceapi.DeviceClass{class("gpu.nvidia.com", isGPU, nil)}}
	pod := claiming(c, 1, requesting(request(alternative("x", "gpu.nvidia.com", 1))))
	demand, err := accelerator.DemandOf(pod, c, nil)
	if err != nil {
		t.Fatal(err)
	}
	c.claims = nil
	if got, complete := NewFinder(c).Options(t.Context(), pod, demand, nil); complete {
		t.Errorf("%v and nothing else, want something missing", shown(got))
	}
}
