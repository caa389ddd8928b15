package teamquota

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// parked are the pods that wait for their team to have room.
type parked struct {
	mu   sync.Mutex
	pods map[types.UID]waiting
}

type waiting struct {
	pod     *corev1.Pod
	team    string
	message string
}

func newParked() *parked { return &parked{pods: map[types.UID]waiting{}} }

// add keeps the pod and tells whether what it waits for is news.
func (p *parked) add(pod *corev1.Pod, team, message string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	news := p.pods[pod.UID].message != message
	p.pods[pod.UID] = waiting{pod: pod, team: team, message: message}
	return news
}

func (p *parked) remove(uid types.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.pods, uid)
}

// of returns the pods of a team as the scheduling queue takes them; of all teams for "".
func (p *parked) of(team string) map[string]*corev1.Pod {
	p.mu.Lock()
	defer p.mu.Unlock()
	pods := map[string]*corev1.Pod{}
	for uid, w := range p.pods {
		if team == "" || w.team == team {
			pods[string(uid)] = w.pod
		}
	}
	return pods
}

func (p *parked) len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.pods)
}
