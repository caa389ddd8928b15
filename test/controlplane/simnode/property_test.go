package simnode

import (
	"fmt"
	"math/rand/v2"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestNeverDoubleNeverUnhealthy drives one inventory through random histories
// beside a dumb twin: a map from id to pod that is filled from the plans alone.
func TestNeverDoubleNeverUnhealthy(t *testing.T) {
	for seed := range uint64(200) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { history(t, seed) })
	}
}

func history(t *testing.T, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 99))
	inv := testInventory(Node{Name: "n1", Devices: testNode(int(seed % 4)).Devices}, seed)
	twin := map[string]types.UID{}
	var live []types.UID
	for step := range 60 {
		switch random.IntN(4) {
		case 0, 1:
			pod := randomPod(random, fmt.Sprint("p", step))
			p, rejected := inv.plan(pod)
			if rejected != nil {
				checkRejection(t, inv, pod, rejected)
				continue
			}
			checkPlan(t, inv, twin, pod, p)
			inv.commit(p)
			live = append(live, pod.UID)
		case 2:
			if len(live) == 0 {
				continue
			}
			i := random.IntN(len(live))
			inv.release(live[i])
			for id, uid := range twin {
				if uid == live[i] {
					delete(twin, id)
				}
			}
			live = append(live[:i], live[i+1:]...)
		case 3:
			device := inv.node.Devices[random.IntN(len(inv.node.Devices))]
			inv.setHealth(device.ID, random.IntN(2) == 0)
		}
		if len(inv.holders) != len(twin) {
			t.Fatalf("step %d: %d devices held, the twin has %d", step, len(inv.holders), len(twin))
		}
		for id, uid := range twin {
			if inv.holders[id].UID != uid {
				t.Fatalf("step %d: device %s is held by %q, want %q", step, id, inv.holders[id].UID, uid)
			}
		}
	}
}

// randomPod has any mix of init containers, sidecars and app containers.
func randomPod(random *rand.Rand, name string) *corev1.Pod {
	limits := func() corev1.ResourceList {
		return want(gpu, fmt.Sprint(random.IntN(3)), slice, fmt.Sprint(random.IntN(2)))
	}
	pod := testPod(name, limits())
	if random.IntN(2) == 0 {
		pod.Spec.Containers = append(pod.Spec.Containers, testContainer("c1", limits()))
	}
	for i := range random.IntN(3) {
		withInit(pod, fmt.Sprint("i", i), random.IntN(2) == 0, limits())
	}
	return pod
}

// checkPlan also adds the plan to the twin.
func checkPlan(t *testing.T, inv *inventory, twin map[string]types.UID, pod *corev1.Pod, p plan) {
	t.Helper()
	concurrent := map[string]string{} // id -> app container or sidecar: these run side by side
	byContainer := map[string]int{}
	for _, g := range p.grants {
		byContainer[g.container+"/"+g.resource] = len(g.ids)
		within := map[string]bool{}
		for _, id := range g.ids {
			device := inv.node.Devices[inv.index[id]]
			if holder, held := twin[id]; held && holder != pod.UID {
				t.Fatalf("device %s of pod %s was given to %s", id, holder, pod.UID)
			}
			if !device.Healthy || device.Resource != g.resource || within[id] {
				t.Fatalf("device %+v was given to %s as %s (twice in one container: %t)", device, pod.UID, g.resource, within[id])
			}
			within[id] = true
			if other, shared := concurrent[id]; shared {
				t.Fatalf("device %s is in containers %s and %s, which run side by side", id, other, g.container)
			}
			if runsOn(pod, g.container) {
				concurrent[id] = g.container
			}
		}
	}
	for _, container := range append(pod.Spec.InitContainers, pod.Spec.Containers...) {
		for _, name := range []corev1.ResourceName{gpu, slice} {
			wanted := container.Resources.Limits[name]
			if got := byContainer[container.Name+"/"+string(name)]; int64(got) != wanted.Value() {
				t.Fatalf("container %s has %d of %s, want %d", container.Name, got, name, wanted.Value())
			}
		}
	}
	for _, g := range p.grants {
		for _, id := range g.ids {
			twin[id] = pod.UID
		}
	}
}

// checkRejection wants a reason: a pod whose containers together ask for no more
// than is free must be admitted.
func checkRejection(t *testing.T, inv *inventory, pod *corev1.Pod, rejected *rejection) {
	t.Helper()
	for _, name := range []corev1.ResourceName{gpu, slice} {
		var asked int64
		for _, container := range append(pod.Spec.InitContainers, pod.Spec.Containers...) {
			quantity := container.Resources.Limits[name]
			asked += quantity.Value()
		}
		var free int64
		for _, device := range inv.node.Devices {
			if _, held := inv.holders[device.ID]; !held && device.Healthy && device.Resource == string(name) {
				free++
			}
		}
		if asked > free {
			return
		}
	}
	t.Fatalf("pod %s was rejected although all it asks for is free: %s", pod.Name, rejected.message)
}

// runsOn is false for the init containers that end before the next starts.
func runsOn(pod *corev1.Pod, name string) bool {
	for i := range pod.Spec.InitContainers {
		if pod.Spec.InitContainers[i].Name == name {
			return isSidecar(&pod.Spec.InitContainers[i])
		}
	}
	return true
}
