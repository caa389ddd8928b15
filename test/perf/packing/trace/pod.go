package trace

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// WholeMilli is a whole device in thousandths.
const WholeMilli = 1000

// Pod is what one pod asks for. It asks for no device (GPUs is 0), for a part of one
// (GPUs is 1, GPUMilli is below WholeMilli) or for whole ones.
type Pod struct {
	Name      string
	CPUMilli  int64
	MemoryMiB int64
	// GPUs counts devices, GPUMilli is thousandths of each; 0 where GPUs is 0.
	GPUs     int
	GPUMilli int64
	// Models are the device models that serve it; empty means any.
	Models []string
}

// Fractional tells whether the pod asks for a part of one device.
func (p *Pod) Fractional() bool { return p.GPUs == 1 && p.GPUMilli < WholeMilli }

// RequestMilli is what the pod asks for in thousandths of a device, over all its devices.
func (p *Pod) RequestMilli() int64 { return int64(p.GPUs) * p.GPUMilli }

// Accepts tells whether devices of the model serve the pod. A pod without devices takes
// any node.
func (p *Pod) Accepts(model string) bool {
	return p.GPUs == 0 || len(p.Models) == 0 || slices.Contains(p.Models, model)
}

const (
	podPrefix = "openb_pod_list_"
	podSuffix = ".csv"
)

// PodFile is the path of the pods of the named workload, such as "default".
func PodFile(dir, name string) string {
	return filepath.Join(dir, podPrefix+name+podSuffix)
}

// Names returns the workloads that the folder has, sorted.
func Names(dir string) ([]string, error) {
	files, err := filepath.Glob(PodFile(dir, "*"))
	if err != nil {
		return nil, fmt.Errorf("listing the workloads in %s: %w", dir, err)
	}
	names := make([]string, len(files))
	for i, file := range files {
		names[i] = strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), podPrefix), podSuffix)
	}
	slices.Sort(names)
	return names, nil
}

// ReadPods returns the pods of a file in its order. Its error names every bad value by
// file, line and column, as far as maxErrors goes.
func ReadPods(path string) ([]Pod, error) {
	var pods []Pod
	lines := map[string]int{}
	err := readSheet(path, []string{"name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli"}, func(r *record) {
		pod := podOf(r)
		r.unique("name", lines)
		pods = append(pods, pod)
	})
	if err != nil {
		return nil, err
	}
	return pods, nil
}

// maxGPUs is more than any node has; it catches columns that were swapped.
const maxGPUs = 64

func podOf(r *record) Pod {
	pod := Pod{
		Name:      r.text("name"),
		CPUMilli:  r.number("cpu_milli", 0, maxNumber),
		MemoryMiB: r.number("memory_mib", 0, maxNumber),
		GPUs:      int(r.number("num_gpu", 0, maxGPUs)),
	}
	if pod.GPUs == 0 {
		return pod
	}
	least := int64(1)
	if pod.GPUs > 1 {
		least = WholeMilli
	}
	pod.GPUMilli = r.number("gpu_milli", least, WholeMilli)
	for model := range strings.SplitSeq(r.optional("gpu_spec"), "|") {
		if model != "" {
			pod.Models = append(pod.Models, model)
		}
	}
	return pod
}
