package simnode

import (
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
)

// PodRef names one incarnation of a pod.
type PodRef struct {
	Namespace, Name string
	UID             types.UID
}

// Holder is the pod that a device is assigned to, and the container in it; of an
// init container and an app container that share the device, the app container.
type Holder struct {
	PodRef
	Container string
}

// inventory is what one kubelet knows: its devices, who holds them and what its
// pods ask for. It has no clock and does no I/O. It is not safe for concurrent use.
type inventory struct {
	node    Node
	index   map[string]int    // device id -> position in node.Devices
	holders map[string]Holder // device id -> holder; free ids are absent
	pods    map[types.UID]corev1.ResourceList
	random  *rand.Rand
	prefer  Preference
}

func newInventory(node Node, random *rand.Rand, prefer Preference) *inventory {
	node = node.defaulted()
	node.Devices = append([]Device(nil), node.Devices...) // health changes in place
	inv := &inventory{
		node: node, random: random, prefer: prefer,
		index:   make(map[string]int, len(node.Devices)),
		holders: map[string]Holder{},
		pods:    map[types.UID]corev1.ResourceList{},
	}
	for i, device := range node.Devices {
		inv.index[device.ID] = i
	}
	return inv
}

// capacity counts all devices, allocatable the healthy ones whether held or
// free, as the kubelet's device manager does.
func (inv *inventory) capacity() (capacity, allocatable corev1.ResourceList) {
	all, healthy := map[string]int64{}, map[string]int64{}
	for _, device := range inv.node.Devices {
		all[device.Resource]++
		if device.Healthy {
			healthy[device.Resource]++
		}
	}
	capacity, allocatable = inv.node.base(), inv.node.base()
	for name, count := range all {
		capacity[corev1.ResourceName(name)] = *resource.NewQuantity(count, resource.DecimalSI)
		// A resource without healthy devices stays, at zero.
		allocatable[corev1.ResourceName(name)] = *resource.NewQuantity(healthy[name], resource.DecimalSI)
	}
	return capacity, allocatable
}

// commit books a plan. It must follow the plan call without a change in between.
func (inv *inventory) commit(p plan) {
	for _, g := range p.grants {
		for _, id := range g.ids {
			// Grants are in the order of the containers, so the app container stays.
			inv.holders[id] = Holder{PodRef: p.pod, Container: g.container}
		}
	}
	inv.pods[p.pod.UID] = p.requests
}

// release forgets a pod and reports whether it held anything.
func (inv *inventory) release(uid types.UID) (freed bool) {
	for id, holder := range inv.holders {
		if holder.UID == uid {
			delete(inv.holders, id)
			freed = true
		}
	}
	delete(inv.pods, uid)
	return freed
}

// setHealth returns the holder of the device, if any, and whether anything changed.
func (inv *inventory) setHealth(id string, healthy bool) (holder types.UID, changed, known bool) {
	i, known := inv.index[id]
	if !known || inv.node.Devices[i].Healthy == healthy {
		return "", false, known
	}
	inv.node.Devices[i].Healthy = healthy
	return inv.holders[id].UID, true, true
}

// healthy is true for ids that the node does not know: a record adopted from an
// earlier node is not evidence of a fault.
func (inv *inventory) healthy(id string) bool {
	i, known := inv.index[id]
	return !known || inv.node.Devices[i].Healthy
}
