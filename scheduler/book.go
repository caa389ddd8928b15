package scheduler

import (
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// book holds the accelerator pods that were given a node and whose devices are not
// known yet. The kubelet picks the device, so each entry is settled by what the
// kubelet reports.
type book struct {
	mu   sync.Mutex
	pods map[types.UID]string
}

func newBook() *book { return &book{pods: map[types.UID]string{}} }

func (b *book) enter(pod *corev1.Pod, node string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pods[pod.UID] = node
}

// remove takes the pod out and tells whether it was in.
func (b *book) remove(uid types.UID) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, found := b.pods[uid]
	delete(b.pods, uid)
	return found
}

func (b *book) len() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.pods)
}

// assignedDevices returns the ids of the devices that the kubelet says the pod has.
// Replica suffixes ("GPU-...::3") are cut off: a share of a device is that device.
func assignedDevices(pod *corev1.Pod) []string {
	var ids []string
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range statuses {
			for _, resource := range statuses[i].AllocatedResourcesStatus {
				for _, device := range resource.Resources {
					id, _, _ := strings.Cut(string(device.ResourceID), "::")
					ids = append(ids, id)
				}
			}
		}
	}
	return ids
}
