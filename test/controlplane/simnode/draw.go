package simnode

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

// draw chooses the devices of one pod, container by container.
type draw struct {
	inv      *inventory
	taken    sets.Set[string]            // by this pod so far
	reusable map[string]sets.Set[string] // resource -> ids that init containers are done with
}

// container chooses for all resources of one container.
func (d *draw) container(container *corev1.Container) ([]grant, *rejection) {
	var grants []grant
	for _, request := range d.inv.deviceRequests(container) {
		ids, rejected := d.devices(request)
		if rejected != nil {
			return nil, rejected
		}
		grants = append(grants, grant{container: container.Name, resource: request.resource, ids: ids})
	}
	return grants, nil
}

// devices takes ids that init containers have finished with first, then free ones.
func (d *draw) devices(request deviceRequest) ([]string, *rejection) {
	healthy, free := d.candidates(request.resource)
	if healthy == 0 {
		return nil, unexpected("no healthy devices present; cannot allocate unhealthy devices %s", request.resource)
	}
	ids := d.shuffled(sets.List(d.reusable[request.resource]))
	if len(ids) >= request.count {
		return ids[:request.count], nil
	}
	needed := request.count - len(ids)
	if len(free) < needed {
		return nil, unexpected("requested number of devices unavailable for %s. Requested: %d, Available: %d",
			request.resource, needed, len(free))
	}
	ids = append(ids, d.choose(request, free, ids)[:needed]...)
	d.taken.Insert(ids...)
	return ids, nil
}

// candidates counts the healthy devices of a resource and lists those that are free.
func (d *draw) candidates(resource string) (healthy int, free []string) {
	for _, device := range d.inv.node.Devices {
		if device.Resource != resource || !device.Healthy {
			continue
		}
		healthy++
		if _, held := d.inv.holders[device.ID]; !held && !d.taken.Has(device.ID) {
			free = append(free, device.ID)
		}
	}
	return healthy, free
}

// choose orders the free ids: the preferred ones first, the rest at random.
func (d *draw) choose(request deviceRequest, free, must []string) []string {
	rest := d.shuffled(free)
	if d.inv.prefer == nil || request.count-len(must) == len(free) {
		return rest
	}
	preferred := d.inv.prefer(PreferenceRequest{
		Node: d.inv.node.Name, Resource: request.resource, Size: request.count,
		Available: slices.Concat(free, must), MustInclude: slices.Clone(must),
	})
	var first []string
	for _, id := range preferred {
		if i := slices.Index(rest, id); i >= 0 {
			first = append(first, id)
			rest = slices.Delete(rest, i, i+1)
		}
	}
	return append(first, rest...)
}

// reuse adds a container's devices to those that later containers may take, or
// removes them.
func (d *draw) reuse(grants []grant, again bool) {
	for _, g := range grants {
		if d.reusable[g.resource] == nil {
			d.reusable[g.resource] = sets.New[string]()
		}
		if again {
			d.reusable[g.resource].Insert(g.ids...)
		} else {
			d.reusable[g.resource].Delete(g.ids...)
		}
	}
}

func (d *draw) shuffled(ids []string) []string {
	out := slices.Clone(ids)
	d.inv.random.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// unexpected words a device failure like the kubelet's admission errors.
func unexpected(format string, args ...any) *rejection {
	return &rejection{
		reason:  reasonUnexpectedAdmission,
		message: "Allocate failed due to " + fmt.Sprintf(format, args...) + ", which is unexpected",
	}
}
