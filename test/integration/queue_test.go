//go:build integration

package integration

import (
	"context"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/test/fixture/rig"
)

// TestQueuedPodsTakeTurns: pods of a team that queues are admitted and run one after the
// other, and none is ever called unschedulable for quota, for which autoscalers buy nodes.
func TestQueuedPodsTakeTurns(t *testing.T) {
	onEachVersion(t, func(ctx context.Context, t *testing.T, r *rig.Rig) {
		const pods = 6
		quota := "teams: [{name: night, owner: o, policy: Queue, limits: {devices: 2}}]"
		if err := r.SetConfig(ctx, v1alpha1.QuotaConfigMap, v1alpha1.QuotaKey, quota); err != nil {
			t.Fatal(err)
		}
		if err := r.Namespace(ctx, "night", map[string]string{v1alpha1.LabelTeam: "night", v1alpha1.LabelMode: string(v1alpha1.ModeEnforce)}); err != nil {
			t.Fatal(err)
		}
		await(ctx, t, r, "the ledger is counted", func() bool {
			ledger, err := r.Ledger(ctx, "night")
			return err == nil && ledger.Status.AsOf != nil
		})
		if err := r.Create(ctx, rig.Workload{Namespace: "night", Name: "job", Resource: rig.ResourceGPU}, pods); err != nil {
			t.Fatal(err)
		}
		done := 0
		for done < pods {
			most := 0
			await(ctx, t, r, "two pods run", func() bool {
				runs := r.Count(func(p rig.Pod) bool { return p.Namespace == "night" && p.Phase == "Running" })
				most = max(most, runs)
				return runs >= min(2, pods-done)
			})
			if most > 2 {
				t.Fatalf("%d pods ran at once, want 2", most)
			}
			for _, p := range r.Watch.Pods() {
				if p.Namespace == "night" && strings.Contains(p.Waiting, "is full") {
					t.Errorf("%s is said to be unschedulable: %s", p.Name, p.Waiting)
				}
				if p.Namespace == "night" && !p.Deleted && p.Phase == "Running" && done < pods {
					if err := r.DeletePod(ctx, p.Namespace, p.Name); err != nil {
						t.Fatal(err)
					}
					done++
				}
			}
		}
		var told []string
		await(ctx, t, r, "each pod that waited is told why", func() bool {
			events, err := r.Client.CoreV1().Events("night").List(ctx, metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			told = told[:0]
			for _, event := range events.Items {
				if event.Reason == v1alpha1.EventQuotaExceeded && strings.Contains(event.Message, "team night is full") {
					told = append(told, event.InvolvedObject.Name)
				}
			}
			return len(told) >= pods-2
		})
	})
}
