//go:build integration

package integration

import (
	"context"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/test/fixture/rig"
)

// TestTelemetryDown: what is known of a bad device outlives telemetry and the
// scheduler, pods without accelerators do not notice, and a telemetry that comes back
// while the exporter is silent forgives nothing.
func TestTelemetryDown(t *testing.T) {
	onEachVersion(t, func(ctx context.Context, t *testing.T, r *rig.Rig) {
		uuid := rig.UUID("gpu-b", 0)
		r.Exporters["gpu-b"].Set(0, "DCGM_FI_DEV_ROW_REMAP_FAILURE", "1")
		await(ctx, t, r, "the device is quarantined", func() bool { q, _ := r.Watch.Quarantine(uuid); return q != nil })
		q, created := r.Watch.Quarantine(uuid)
		if q.Spec.Reason != "RowRemapFailure" || q.Spec.Action != v1alpha1.ActionReplaceDevice || q.Spec.Node != "gpu-b" {
			t.Fatalf("got quarantine %+v", q.Spec)
		}

		r.Telemetry.Kill()
		r.Scheduler.Kill()
		if err := r.Scheduler.Restart(ctx); err != nil {
			t.Fatal(err)
		}
		if err := r.Create(ctx, rig.Workload{Namespace: "night", Name: "cpu"}, 1); err != nil {
			t.Fatal(err)
		}
		if err := r.Create(ctx, rig.Workload{Namespace: "night", Name: "gpu", Resource: rig.ResourceGPU}, 5); err != nil {
			t.Fatal(err)
		}
		await(ctx, t, r, "the CPU pod and four GPU pods run, and the fifth is turned away", func() bool {
			runs, waits := 0, 0
			for _, p := range r.Watch.Pods() {
				if p.Namespace == "night" && p.Phase == "Running" {
					runs++
				}
				if p.Namespace == "night" && p.Waiting != "" {
					waits++
				}
			}
			return runs == 5 && waits == 1
		})
		for _, p := range r.Watch.Pods() {
			if p.Namespace == "night" && p.Node == "gpu-b" && p.Name != "cpu-0" {
				t.Errorf("%s was sent to the node of the quarantined device", p.Name)
			}
		}

		resume := r.Exporters["gpu-b"].Hang()
		defer resume()
		if err := r.Telemetry.Restart(ctx); err != nil {
			t.Fatal(err)
		}
		await(ctx, t, r, "telemetry holds the device Failed by its record alone", func() bool {
			grades, err := r.Grades(ctx)
			return err == nil && grades[string(v1alpha1.GradeFailed)] == 1
		})
		if _, again := r.Watch.Quarantine(uuid); again != created {
			t.Errorf("the quarantine was made anew: revision %d, was %d", again, created)
		}

		// The hanging exporter is the same node's; with it back and clean, the device is
		// trusted after probation.
		r.Exporters["gpu-b"].Restore(0)
		resume()
		await(ctx, t, r, "the quarantine ends", func() bool { q, _ := r.Watch.Quarantine(uuid); return q == nil })
		await(ctx, t, r, "the fifth pod runs", running(r, "night", "gpu", 5))
	})
}

// TestOperatorsWord: an operator can overrule a quarantine; deleting one whose device
// still fails brings it back.
func TestOperatorsWord(t *testing.T) {
	onEachVersion(t, func(ctx context.Context, t *testing.T, r *rig.Rig) {
		uuid := rig.UUID("gpu-a", 1)
		quarantines := r.Dynamic.Resource(v1alpha1.QuarantineResource)
		r.Exporters["gpu-a"].FallOffBus(1)
		await(ctx, t, r, "the device is quarantined", func() bool { q, _ := r.Watch.Quarantine(uuid); return q != nil })
		if err := r.Create(ctx, rig.Workload{Namespace: "team", Name: "pinned", Resource: rig.ResourceGPU, Node: "gpu-a"}, 1); err != nil {
			t.Fatal(err)
		}
		await(ctx, t, r, "the pod is turned away", func() bool { p := r.Watch.Pod("team", "pinned-0"); return p != nil && p.Waiting != "" })

		q, first := r.Watch.Quarantine(uuid)
		if err := quarantines.Delete(ctx, q.Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		await(ctx, t, r, "the quarantine is back", func() bool { q, again := r.Watch.Quarantine(uuid); return q != nil && again != first })
		if p := r.Watch.Pod("team", "pinned-0"); p.Node != "" {
			t.Fatalf("the pod was bound while the device failed")
		}

		release := []byte(`{"spec":{"release":{"reason":"riser reseated, watched by hand"}}}`)
		if _, err := quarantines.Patch(ctx, q.Name, types.MergePatchType, release, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		await(ctx, t, r, "the parked pod runs", running(r, "team", "pinned", 1))
		await(ctx, t, r, "the status says Released", func() bool {
			q, _ := r.Watch.Quarantine(uuid)
			return q != nil && q.Status.Phase == v1alpha1.PhaseReleased
		})
	})
}

// TestUnknownProfile: a pod that asks for what no node has is told so.
func TestUnknownProfile(t *testing.T) {
	onEachVersion(t, func(ctx context.Context, t *testing.T, r *rig.Rig) {
		if err := r.Create(ctx, rig.Workload{Namespace: "team", Name: "big", Resource: "nvidia.com/mig-7g.80gb"}, 1); err != nil {
			t.Fatal(err)
		}
		want := "no node offers nvidia.com/mig-7g.80gb; nodes offer nvidia.com/gpu on 2, nvidia.com/gpu.shared on 2, nvidia.com/mig-1g.5gb on 2, nvidia.com/mig-2g.10gb on 2"
		await(ctx, t, r, "the condition says "+want, func() bool {
			p := r.Watch.Pod("team", "big-0")
			return p != nil && strings.Contains(p.Waiting, want)
		})
	})
}
