package replay

import "fmt"

// GPUs are the devices as they are now; policies read them.
type GPUs struct {
	// Replicas is how many pods may share one.
	Replicas int
	// Pods and Busy are how many pods each has, and how many of those are busy now.
	Pods, Busy []int
}

// take gives the pod one replica of the GPU.
func (g *GPUs) take(gpu int, busy bool) error {
	if gpu < 0 || gpu >= len(g.Pods) || g.Pods[gpu] >= g.Replicas {
		return fmt.Errorf("GPU %d has no replica free", gpu)
	}
	g.Pods[gpu]++
	if busy {
		g.Busy[gpu]++
	}
	return nil
}

// room tells whether any GPU has a replica free.
func (g *GPUs) room() bool {
	for _, pods := range g.Pods {
		if pods < g.Replicas {
			return true
		}
	}
	return false
}

// crowded is how many busy pods share their GPU with another busy one, used how many GPUs
// have a pod.
func (g *GPUs) crowded() (pods, used int) {
	for gpu, busy := range g.Busy {
		if busy > 1 {
			pods += busy
		}
		if g.Pods[gpu] > 0 {
			used++
		}
	}
	return pods, used
}
