package main

import (
	"context"
	"strings"

	"wastenot.dev/test/fixture/rig"
)

// webhookDown lets pods arrive while no webhook answers and telemetry is gone too.
func (d *day) webhookDown(ctx context.Context) error {
	for _, process := range d.rig.Webhooks {
		process.Kill()
	}
	d.say("all %d webhook replicas are killed", len(d.rig.Webhooks))
	// In a namespace that enforces, too.
	if err := d.create(ctx, rig.Workload{Namespace: "vision", Name: "cpu"}, 1); err != nil {
		return err
	}
	gpu := rig.Workload{Namespace: "vision", Name: "train", Resource: rig.ResourceGPU}
	_, refused := d.rig.Try(ctx, gpu.Pod("train-0"))
	d.say("a GPU pod of team vision, whose namespace enforces: %v", refused)
	gpu.Namespace = "night"
	if err := d.create(ctx, gpu, 1); err != nil {
		return err
	}
	d.say("a GPU pod in a namespace that observes runs, and so does a CPU pod in one that enforces")
	named := refused != nil && strings.Contains(refused.Error(), "enforce.pods.wastenot.dev")
	d.add("h", "with webhook and telemetry dead a CPU pod starts, a GPU pod is refused where the mode is enforce, naming our webhook, and admitted where it is observe",
		named, "1 CPU pod runs in an enforcing namespace, 1 GPU pod in an observing one; refused: %v", refused)
	for _, process := range d.rig.Webhooks {
		if err := process.Restart(ctx); err != nil {
			return err
		}
	}
	return nil
}
