package replay

import "wastenot.dev/test/perf/packing/trace"

// Demands are the arrived demands, in percent of the capacity, at which the allocation is
// sampled: the columns of the published results.
var Demands = [...]int64{95, 100, 110, 130}

// Row is what became of one arrival.
type Row struct {
	// Seq counts arrivals from 0.
	Seq int
	Pod string
	// Node is empty for a pod that did not fit.
	Node string
	// Devices are indices on the node; none for a pod that asks for none.
	Devices []int
	// Milli is thousandths of each device that the pod asks for, placed or not.
	Milli int64
}

// Result is what became of all arrivals.
type Result struct {
	// CapacityMilli is what all devices have, AllocatedMilli what was given out and
	// ArrivedMilli what was asked for, in thousandths of a device.
	CapacityMilli, AllocatedMilli, ArrivedMilli int64
	Rows                                        []Row
	// OnBadDevices counts the pods that got a device that was bad when they came.
	OnBadDevices int
	// HealthyMilli is what the devices that are good in the end have, and
	// HealthyAllocatedMilli what of it is given out.
	HealthyMilli, HealthyAllocatedMilli int64
	// Samples are what was allocated when the arrived demand first reached each of
	// Demands, in thousandths of a device. A demand that was not reached has none.
	Samples []int64
}

// AllocatedPercent is the allocation at the demand, in percent of the capacity; ok is
// false where the demand was not reached or is none of Demands.
func (r *Result) AllocatedPercent(demand int64) (percent float64, ok bool) {
	for i, sample := range r.Samples {
		if Demands[i] == demand {
			return 100 * float64(sample) / float64(r.CapacityMilli), true
		}
	}
	return 0, false
}

// add records an arrival; node is empty when it was not placed.
func (r *Result) add(pod *trace.Pod, node string, devices []int) {
	r.Rows = append(r.Rows, Row{Seq: len(r.Rows), Pod: pod.Name, Node: node, Devices: devices, Milli: pod.GPUMilli})
	r.ArrivedMilli += pod.RequestMilli()
	if node != "" {
		r.AllocatedMilli += pod.RequestMilli()
	}
	for len(r.Samples) < len(Demands) && r.CapacityMilli > 0 &&
		100*r.ArrivedMilli >= Demands[len(r.Samples)]*r.CapacityMilli {
		r.Samples = append(r.Samples, r.AllocatedMilli)
	}
}
