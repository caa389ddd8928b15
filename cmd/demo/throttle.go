package main

import (
	"context"

	"wastenot.dev/test/fixture/rig"
)

// throttle lets a GPU be held down by heat: that keeps no pod away, but pods prefer
// other nodes.
func (d *day) throttle(ctx context.Context) error {
	const node, thermal = "t4-01", "64" // HW thermal slowdown, bit 0x40
	d.rig.Exporters[node].Set(0, "DCGM_FI_DEV_CLOCKS_EVENT_REASONS", thermal)
	d.say("GPU 0 of %s is slowed down by heat", node)
	if err := d.await(ctx, "the GPU is Suspect", func() bool {
		grades, err := d.rig.Grades(ctx)
		return err == nil && grades["Suspect"] == 1
	}); err != nil {
		return err
	}
	const pods = 4
	if err := d.create(ctx, rig.Workload{Namespace: "batch", Name: "infer", Resource: rig.ResourceGPU}, pods); err != nil {
		return err
	}
	there := 0
	for _, p := range d.pods("batch", "infer") {
		if p.Node == node {
			there++
		}
	}
	d.say("it is Suspect after throttling for 2 s; of %d new pods %d went to its node", pods, there)
	return d.rig.Delete(ctx, "batch")
}
