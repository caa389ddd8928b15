package policy

import (
	"slices"
	"strings"

	"wastenot.dev/test/perf/packing/trace"
)

// fragments measures how much of a node's free devices the typical pods cannot use.
//
// For one typical pod that is all that is free when the pod cannot run on the node (CPU,
// model, number of devices with enough left), else what is free on devices that have too
// little left for it. A pod that asks for no device can use none of them: all that is
// free is a fragment to it. F of the node is the mean over the typical pods, weighted by
// how frequent they are (paper section 4; hkust-adsl/kubernetes-scheduler-simulator,
// pkg/utils/frag.go).
type fragments struct {
	typical []typicalPod
	// usable has, by model of the node, which typical pods it serves.
	usable map[string][]bool
	// weight is the sum of the counts of the typical pods.
	weight int64
}

func newFragments(typical []typicalPod, models []string) *fragments {
	f := &fragments{typical: typical, usable: map[string][]bool{}}
	for i := range typical {
		f.weight += typical[i].count
	}
	for _, model := range models {
		usable := make([]bool, len(typical))
		for i := range typical {
			usable[i] = typical[i].models == "" || slices.Contains(strings.Split(typical[i].models, "|"), model)
		}
		f.usable[model] = usable
	}
	return f
}

// weighted is F times the weight, in thousandths of a device: whole numbers, so that a
// difference of nothing is exactly 0. free is what each device has left.
func (f *fragments) weighted(model string, freeCPUMilli int64, free []int64) int64 {
	usable := f.usable[model]
	var total int64
	for _, milli := range free {
		total += milli
	}
	if total == 0 {
		return 0
	}
	var sum int64
	for i := range f.typical {
		pod := &f.typical[i]
		if pod.gpus == 0 || pod.cpuMilli > freeCPUMilli || !usable[i] {
			sum += pod.count * total
			continue
		}
		sum += pod.count * unusable(free, total, pod.gpus, pod.gpuMilli)
	}
	return sum
}

// unusable is what is free on devices that have too little left, or the total when too
// few have enough.
func unusable(free []int64, total int64, gpus int, milli int64) int64 {
	var small int64
	enough := 0
	for _, left := range free {
		if left >= milli {
			enough++
		} else {
			small += left
		}
	}
	if enough < gpus {
		return total
	}
	return small
}

// gain is by how many whole devices F falls between two results of weighted.
func (f *fragments) gain(before, after int64) float64 {
	return float64(before-after) / float64(f.weight*trace.WholeMilli)
}
