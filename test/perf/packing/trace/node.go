package trace

import "path/filepath"

// Node is one machine as it is when nothing runs on it.
type Node struct {
	Name      string
	CPUMilli  int64
	MemoryMiB int64
	// GPUs counts its devices; each has WholeMilli.
	GPUs int
	// Model is that of its devices; empty where it has none.
	Model string
}

// NodeFile is the path of the nodes, which all workloads of a folder share.
func NodeFile(dir string) string { return filepath.Join(dir, "openb_node_list_gpu_node.csv") }

// ReadNodes returns the nodes of a file in its order. Its error names every bad value by
// file, line and column, as far as maxErrors goes.
func ReadNodes(path string) ([]Node, error) {
	var nodes []Node
	lines := map[string]int{}
	err := readSheet(path, []string{"sn", "cpu_milli", "memory_mib", "gpu", "model"}, func(r *record) {
		nodes = append(nodes, Node{
			Name:      r.text("sn"),
			CPUMilli:  r.number("cpu_milli", 0, maxNumber),
			MemoryMiB: r.number("memory_mib", 0, maxNumber),
			GPUs:      int(r.number("gpu", 0, maxGPUs)),
			Model:     r.optional("model"),
		})
		r.unique("sn", lines)
	})
	if err != nil {
		return nil, err
	}
	return nodes, nil
}

// CapacityMilli is what all devices of the nodes have, in thousandths of a device.
func CapacityMilli(nodes []Node) int64 {
	var sum int64
	for i := range nodes {
		sum += int64(nodes[i].GPUs) * WholeMilli
	}
	return sum
}
