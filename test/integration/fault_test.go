//go:build integration

package integration

import (
	"context"
	"strings"
	"testing"

	"wastenot.dev/test/fixture/rig"
)

// TestFaultToRecovery follows one device from its fault to the pod that it gets again.
func TestFaultToRecovery(t *testing.T) {
	onEachVersion(t, func(ctx context.Context, t *testing.T, r *rig.Rig) {
		uuid := rig.UUID("gpu-a", 2)
		r.Exporters["gpu-a"].FallOffBus(2)
		await(ctx, t, r, "the device is quarantined", func() bool { q, _ := r.Watch.Quarantine(uuid); return q != nil })

		// Eight pods want eight devices, and one node of four is closed.
		if err := r.Create(ctx, rig.Workload{Namespace: "team", Name: "train", Resource: rig.ResourceGPU}, 8); err != nil {
			t.Fatal(err)
		}
		await(ctx, t, r, "four pods run and four are turned away", func() bool {
			runs, waits := 0, 0
			for _, p := range r.Watch.Pods() {
				switch {
				case p.Namespace != "team":
				case p.Phase == "Running" && p.Node == "gpu-b":
					runs++
				case strings.Contains(p.Waiting, uuid+") XID79, needs RebootNode"):
					waits++
				}
			}
			return runs == 4 && waits == 4
		})

		r.Exporters["gpu-a"].Restore(2)
		await(ctx, t, r, "the quarantine ends", func() bool { q, _ := r.Watch.Quarantine(uuid); return q == nil })
		await(ctx, t, r, "the parked pods run", running(r, "team", "train", 8))
	})
}
