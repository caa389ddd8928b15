package scheduler

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// parked holds the pods that this plugin turned away and that still wait, so that
// they can be retried at once when a device recovers.
type parked struct {
	mu   sync.Mutex
	pods map[types.UID]*corev1.Pod
}

func newParked() *parked { return &parked{pods: map[types.UID]*corev1.Pod{}} }

func (p *parked) add(pod *corev1.Pod) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pods[pod.UID] = pod
}

func (p *parked) remove(uid types.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.pods, uid)
}

// all returns the parked pods. They stay parked until they are placed or gone: a
// retry may be turned away again. The keys are UIDs, for a pod and its successor of
// the same name may both be here for a moment; the scheduling queue reads no keys.
func (p *parked) all() map[string]*corev1.Pod {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make(map[string]*corev1.Pod, len(p.pods))
	for uid, pod := range p.pods {
		out[string(uid)] = pod
	}
	return out
}

func (p *parked) has(uid types.UID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, found := p.pods[uid]
	return found
}

func (p *parked) len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.pods)
}
