//go:build integration

package integration

import (
	"context"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/test/fixture/rig"
)

// TestVendorTookItOut: when the vendor's device plugin has taken the bad device out of
// allocatable itself, its healthy siblings are used, and the count of what the node
// lost must match for that.
func TestVendorTookItOut(t *testing.T) {
	onEachVersion(t, func(ctx context.Context, t *testing.T, r *rig.Rig) {
		uuid := rig.UUID("gpu-a", 0)
		r.Exporters["gpu-a"].FallOffBus(0)
		await(ctx, t, r, "the device is quarantined", func() bool { q, _ := r.Watch.Quarantine(uuid); return q != nil })
		awaitEvent(ctx, t, r, v1alpha1.EventAcceleratorQuarantined)
		pinned := rig.Workload{Namespace: "team", Name: "pinned", Resource: rig.ResourceGPU, Node: "gpu-a"}
		if err := r.Create(ctx, pinned, 4); err != nil {
			t.Fatal(err)
		}
		await(ctx, t, r, "all four pods are turned away", func() bool {
			return r.Count(func(p rig.Pod) bool { return p.Namespace == "team" && p.Waiting != "" && p.Node == "" }) == 4
		})

		if err := r.Nodes.SetDeviceHealth("gpu-a", uuid, false); err != nil {
			t.Fatal(err)
		}
		await(ctx, t, r, "three of them run on the healthy siblings", func() bool {
			return r.Count(func(p rig.Pod) bool { return p.Namespace == "team" && p.Phase == "Running" }) == 3
		})
		for _, assignment := range r.Nodes.Assignments() {
			if assignment.Node == "gpu-a" && slices.Contains(assignment.IDs, uuid) {
				t.Errorf("%s was given the bad device", assignment.Pod.Name)
			}
		}
	})
}

// TestBadMIGParent: a fault of a GPU reaches all its instances, of every profile, and
// no other node. It runs beside the cluster's own scheduler, as manifests/base has it.
func TestBadMIGParent(t *testing.T) {
	onEachVersionWith(t, "secondary.yaml", func(ctx context.Context, t *testing.T, r *rig.Rig) {
		uuid := rig.UUID("mig-a", 1)
		r.Exporters["mig-a"].Set(1, "DCGM_FI_DEV_XID_ERRORS", "95")
		await(ctx, t, r, "the device is quarantined", func() bool { q, _ := r.Watch.Quarantine(uuid); return q != nil })
		for name, resource := range map[string]string{"small": rig.ResourceMIG1g, "large": rig.ResourceMIG2g} {
			if err := r.Create(ctx, rig.Workload{Namespace: "team", Name: name, Resource: resource}, 2); err != nil {
				t.Fatal(err)
			}
		}
		await(ctx, t, r, "all four run on the other node", func() bool {
			return r.Count(func(p rig.Pod) bool { return p.Namespace == "team" && p.Phase == "Running" && p.Node == "mig-b" }) == 4
		})
	})
}

// awaitEvent waits for an event of the reason about any object.
func awaitEvent(ctx context.Context, t *testing.T, r *rig.Rig, reason string) {
	t.Helper()
	await(ctx, t, r, "an event says "+reason, func() bool {
		events, err := r.Client.EventsV1().Events("").List(ctx, metav1.ListOptions{})
		if err != nil {
			return false
		}
		for i := range events.Items {
			if events.Items[i].Reason == reason {
				return true
			}
		}
		return false
	})
}
