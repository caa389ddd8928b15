package policy

import (
	"cmp"
	"slices"
	"strings"

	"wastenot.dev/test/perf/packing/trace"
)

// shape is what matters of a pod to the fragmentation of a node: memory does not.
type shape struct {
	cpuMilli int64
	gpuMilli int64
	gpus     int
	// models is trace.Pod.Models, joined so that shapes compare.
	models string
}

func shapeOf(pod *trace.Pod) shape {
	return shape{cpuMilli: pod.CPUMilli, gpuMilli: pod.GPUMilli, gpus: pod.GPUs, models: strings.Join(pod.Models, "|")}
}

// typicalPod is a shape and how many pods of the workload have it.
type typicalPod struct {
	shape

	count int64
}

// typicalPercent is the part of the workload that the typical pods make up at least.
const typicalPercent = 95

// typicalPods returns the most frequent shapes, just enough to cover typicalPercent of
// the workload, CPU-only pods included. Of equally frequent shapes the larger goes first:
// CPU, then part, then number, then model. The notion is the paper's; the order of equals
// and the 95 % are those of hkust-adsl/kubernetes-scheduler-simulator, pkg/utils/frag.go
// and scripts/generate_config_and_run.py.
func typicalPods(workload []trace.Pod) []typicalPod {
	counts := map[shape]int64{}
	for i := range workload {
		counts[shapeOf(&workload[i])]++
	}
	typical := make([]typicalPod, 0, len(counts))
	for s, count := range counts {
		typical = append(typical, typicalPod{shape: s, count: count})
	}
	slices.SortFunc(typical, func(a, b typicalPod) int {
		return cmp.Or(
			cmp.Compare(b.count, a.count), cmp.Compare(b.cpuMilli, a.cpuMilli), cmp.Compare(b.gpuMilli, a.gpuMilli),
			cmp.Compare(b.gpus, a.gpus), cmp.Compare(b.models, a.models),
		)
	})
	var covered int64
	for i := range typical {
		covered += typical[i].count
		if 100*covered >= typicalPercent*int64(len(workload)) {
			return typical[:i+1]
		}
	}
	return typical
}
