package replay

import (
	"fmt"
	"slices"

	"wastenot.dev/test/perf/packing/trace"
)

// check returns what is wrong with a placement, nil if nothing is.
func (w *weather) check(pod *trace.Pod, node int, devices []int) error {
	if node < 0 || node >= len(w.truth.Nodes) {
		return fmt.Errorf("placing pod %s: there is no node %d, the cluster has %d", pod.Name, node, len(w.truth.Nodes))
	}
	n := w.seen(node)
	switch {
	case pod.CPUMilli > n.FreeCPUMilli:
		return fmt.Errorf("placing pod %s on %s: it asks for %d milli of CPU, %d are free", pod.Name, n.Name, pod.CPUMilli, n.FreeCPUMilli)
	case pod.MemoryMiB > n.FreeMemoryMiB:
		return fmt.Errorf("placing pod %s on %s: it asks for %d MiB of memory, %d are free", pod.Name, n.Name, pod.MemoryMiB, n.FreeMemoryMiB)
	case !pod.Accepts(n.Model):
		return fmt.Errorf("placing pod %s on %s: it wants one of the models %q, the node has %q", pod.Name, n.Name, pod.Models, n.Model)
	case len(devices) != pod.GPUs:
		return fmt.Errorf("placing pod %s on %s: it asks for %d devices, the policy gave %v", pod.Name, n.Name, pod.GPUs, devices)
	}
	return n.checkDevices(pod, devices)
}

func (n *Node) checkDevices(pod *trace.Pod, devices []int) error {
	for i, d := range devices {
		switch {
		case d < 0 || d >= len(n.FreeMilli):
			return fmt.Errorf("placing pod %s on %s: there is no device %d, the node has %d", pod.Name, n.Name, d, len(n.FreeMilli))
		case slices.Contains(devices[:i], d):
			return fmt.Errorf("placing pod %s on %s: the policy gave device %d twice", pod.Name, n.Name, d)
		case pod.GPUMilli > n.FreeMilli[d]:
			return fmt.Errorf("placing pod %s on %s: it asks for %d milli of device %d, %d are free", pod.Name, n.Name, pod.GPUMilli, d, n.FreeMilli[d])
		}
	}
	return nil
}

// checkUnfit returns an error that names a node where the pod fits, nil if there is none.
func (w *weather) checkUnfit(pod *trace.Pod) error {
	for i := range w.truth.Nodes {
		if w.seen(i).Fits(pod) {
			return fmt.Errorf("placing pod %s: the policy says that it fits nowhere, but it fits on %s", pod.Name, w.truth.Nodes[i].Name)
		}
	}
	return nil
}
