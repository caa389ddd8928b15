package replay

import (
	"cmp"
	"slices"

	"wastenot.dev/test/perf/packing/trace"
)

// Node is one machine with what is free on it now.
type Node struct {
	Name  string
	Model string

	FreeCPUMilli  int64
	FreeMemoryMiB int64
	// FreeMilli is what each device has left, in thousandths of a device.
	FreeMilli []int64
}

// Fits tells whether the pod can run on the node as it is.
func (n *Node) Fits(pod *trace.Pod) bool {
	if pod.CPUMilli > n.FreeCPUMilli || pod.MemoryMiB > n.FreeMemoryMiB || !pod.Accepts(n.Model) {
		return false
	}
	return n.serving(pod) >= pod.GPUs
}

// serving counts the devices that have enough left for the pod.
func (n *Node) serving(pod *trace.Pod) int {
	count := 0
	for _, free := range n.FreeMilli {
		if free >= pod.GPUMilli {
			count++
		}
	}
	return count
}

// TotalFreeMilli is what all devices of the node have left together.
func (n *Node) TotalFreeMilli() int64 {
	var sum int64
	for _, free := range n.FreeMilli {
		sum += free
	}
	return sum
}

// FirstWhole returns the lowest indices of untouched devices, count of them, or fewer
// where the node has fewer.
func (n *Node) FirstWhole(count int) []int {
	devices := make([]int, 0, count)
	for i, free := range n.FreeMilli {
		if len(devices) == count {
			break
		}
		if free == trace.WholeMilli {
			devices = append(devices, i)
		}
	}
	return devices
}

// Cluster is the state that a policy reads. It follows the placements; a policy must not
// change it.
type Cluster struct {
	// Nodes are sorted by name, whatever the order of the file.
	Nodes []Node
	// Workload is what is known beforehand of the pods to come: the pods of the trace,
	// before any was drawn again and in no order that tells when they arrive.
	Workload []trace.Pod
}

// NewCluster returns the nodes with nothing on them.
func NewCluster(nodes []trace.Node, workload []trace.Pod) *Cluster {
	c := &Cluster{Nodes: make([]Node, len(nodes)), Workload: workload}
	for i, node := range nodes {
		free := make([]int64, node.GPUs)
		for d := range free {
			free[d] = trace.WholeMilli
		}
		c.Nodes[i] = Node{
			Name: node.Name, Model: node.Model,
			FreeCPUMilli: node.CPUMilli, FreeMemoryMiB: node.MemoryMiB, FreeMilli: free,
		}
	}
	slices.SortFunc(c.Nodes, func(a, b Node) int { return cmp.Compare(a.Name, b.Name) })
	return c
}

// apply takes from the node what the pod asks for; the placement must have passed check.
func (c *Cluster) apply(pod *trace.Pod, node int, devices []int) {
	n := &c.Nodes[node]
	n.FreeCPUMilli -= pod.CPUMilli
	n.FreeMemoryMiB -= pod.MemoryMiB
	for _, d := range devices {
		n.FreeMilli[d] -= pod.GPUMilli
	}
}
