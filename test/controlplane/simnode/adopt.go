package simnode

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// takeUp makes the fleet know the pods that were bound before it started: those
// that run keep their devices, and only then are the waiting ones admitted, the
// oldest first.
func (f *Fleet) takeUp(adopt []Assignment) error {
	recorded := map[types.UID][]Assignment{}
	for _, assignment := range adopt {
		if assignment.ReleasedAt.IsZero() {
			recorded[assignment.Pod.UID] = append(recorded[assignment.Pod.UID], assignment)
		}
	}
	var waiting []*corev1.Pod
	for _, object := range f.informer.GetStore().List() {
		pod := object.(*corev1.Pod)
		if pod.Status.Phase != corev1.PodRunning {
			waiting = append(waiting, pod)
		} else if err := f.adopt(pod, recorded[pod.UID]); err != nil {
			return fmt.Errorf("taking up pod %s/%s: %w", pod.Namespace, pod.Name, err)
		}
	}
	slices.SortFunc(waiting, func(a, b *corev1.Pod) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
			cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	for _, pod := range waiting {
		f.observe(pod)
	}
	return nil
}

// adopt books a running pod with the devices it already has.
func (f *Fleet) adopt(pod *corev1.Pod, recorded []Assignment) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	node := f.nodes[pod.Spec.NodeName]
	if node == nil {
		return nil
	}
	p := plan{pod: refOf(pod), requests: baseRequests(pod), grants: publishedGrants(pod)}
	if recorded != nil {
		p.grants = recordedGrants(pod, recorded)
	}
	for _, g := range p.grants {
		for _, id := range g.ids {
			if holder, held := node.holders[id]; held && holder.UID != pod.UID {
				return fmt.Errorf("device %s is also held by pod %s/%s", id, holder.Namespace, holder.Name)
			}
		}
	}
	t := &tracked{pod: pod, node: node, started: f.clock.Now(), revision: 1}
	if pod.Status.StartTime != nil {
		t.started = pod.Status.StartTime.Time
	}
	runFor, err := annotation(pod, RunFor)
	if err != nil {
		return err
	}
	if runFor > 0 {
		t.endAt = t.started.Add(runFor)
	}
	f.pods[pod.UID] = t
	f.book(t, p)
	if pod.Status.PodIP != "" {
		t.address = pod.Status.PodIP
	}
	f.queue.Add(item{kind: podItem, key: string(pod.UID)})
	return nil
}

// publishedGrants reads the ids out of a pod's status. Those of sidecars are not
// in it, and below Kubernetes 1.36 none are.
func publishedGrants(pod *corev1.Pod) []grant {
	var grants []grant
	for _, status := range pod.Status.ContainerStatuses {
		for _, allocated := range status.AllocatedResourcesStatus {
			g := grant{container: status.Name, resource: string(allocated.Name), published: true}
			for _, device := range allocated.Resources {
				g.ids = append(g.ids, string(device.ResourceID))
			}
			grants = append(grants, g)
		}
	}
	return grants
}

func recordedGrants(pod *corev1.Pod, recorded []Assignment) []grant {
	var grants []grant
	for _, assignment := range recorded {
		published := slices.ContainsFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == assignment.Container })
		grants = append(grants, grant{
			container: assignment.Container, resource: assignment.Resource,
			ids: slices.Clone(assignment.IDs), published: published,
		})
	}
	return grants
}
