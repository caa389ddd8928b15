package main

import (
	"context"

	"wastenot.dev/test/fixture/rig"
)

// telemetryDown kills telemetry and restarts the scheduler, so that nothing but the
// Quarantine object is left to know of a bad device.
func (d *day) telemetryDown(ctx context.Context) error {
	const node, gpu = "h100-06", 2
	uuid := rig.UUID(node, gpu)
	d.rig.Exporters[node].Set(gpu, "DCGM_FI_DEV_ROW_REMAP_FAILURE", "1")
	if err := d.await(ctx, "the device is quarantined", func() bool { q, _ := d.rig.Watch.Quarantine(uuid); return q != nil }); err != nil {
		return err
	}
	q, quarantined := d.rig.Watch.Quarantine(uuid)
	d.say("GPU %d of %s cannot remap a memory row: %s, needs %s", gpu, node, q.Spec.Reason, q.Spec.Action)

	d.rig.Telemetry.Kill()
	d.rig.Scheduler.Kill()
	d.say("telemetry is killed, and the scheduler is restarted without it")
	if err := d.rig.Scheduler.Restart(ctx); err != nil {
		return err
	}
	if err := d.create(ctx, rig.Workload{Namespace: "night", Name: "cpu"}, 1); err != nil {
		return err
	}
	const pods = 12
	if err := d.create(ctx, rig.Workload{Namespace: "night", Name: "gpu", Resource: rig.ResourceGPU}, pods); err != nil {
		return err
	}
	got := 0
	for _, p := range d.pods("night", "gpu") {
		if holds(p, uuid) {
			got++
		}
	}
	d.say("a CPU pod and %d GPU pods run; %d got the quarantined GPU", pods, got)
	if err := d.rig.Telemetry.Restart(ctx); err != nil {
		return err
	}
	still, same := d.rig.Watch.Quarantine(uuid)
	d.say("telemetry is back and holds the device to be bad, as its record says")
	d.add("e", "a CPU-only pod and GPU pods start while telemetry is down, and the quarantined device is avoided",
		got == 0 && still != nil && same == quarantined,
		"1 CPU pod and %d GPU pods run, %d on the quarantined device; the quarantine outlived both processes", pods, got)
	return nil
}
