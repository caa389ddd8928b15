package main

import (
	"context"

	"wastenot.dev/test/fixture/rig"
)

// The device that is bad while telemetry is down.
const (
	downNode = "h100-06"
	downGPU  = 2
)

// telemetryDown lets pods arrive while nothing but the Quarantine object is left to
// know of a bad device.
func (d *day) telemetryDown(ctx context.Context) error {
	uuid := rig.UUID(downNode, downGPU)
	quarantined, err := d.takeDown(ctx, uuid)
	if err != nil {
		return err
	}
	const pods, pinned = 12, 3
	if err := d.night(ctx, uuid, pods, pinned); err != nil {
		return err
	}
	got := d.rig.Count(func(p rig.Pod) bool { return p.Namespace == "night" && holds(p, uuid) })
	away := d.turnedAway("night", "pinned", uuid)
	stock, sent, err := d.fillUnderStock(ctx, downNode, uuid)
	if err != nil {
		return err
	}
	d.say("a CPU pod and %d GPU pods run; %d pods that may only use %s wait; stock gave the quarantined GPU to %d of %d pods", pods, away, downNode, stock, sent)
	if err := d.webhookDown(ctx); err != nil {
		return err
	}
	if err := d.rig.Telemetry.Restart(ctx); err != nil {
		return err
	}
	still, same := d.rig.Watch.Quarantine(uuid)
	d.say("telemetry is back and holds the device to be bad, as its record says")
	d.add("e", "a CPU-only pod and GPU pods start while telemetry is down, and the quarantined device is avoided",
		got == 0 && away == pinned && stock == 1 && still != nil && same == quarantined,
		"1 CPU pod and %d GPU pods run, %d on the quarantined device; %d of %d pods sent to its node turned away for it; under stock %d got it; the quarantine outlived both processes",
		pods, got, away, pinned, stock)
	return nil
}

// takeDown lets the device fail, and when it is quarantined kills telemetry and
// restarts the scheduler, which then knows only the object. It returns the revision that
// created the quarantine.
func (d *day) takeDown(ctx context.Context, uuid string) (quarantined int64, err error) {
	// The training jobs end, so that the node has room and only the device can be why
	// it is not used.
	if err := d.rig.Delete(ctx, "train"); err != nil {
		return 0, err
	}
	d.rig.Exporters[downNode].Set(downGPU, "DCGM_FI_DEV_ROW_REMAP_FAILURE", "1")
	if err := d.await(ctx, "the device is quarantined", func() bool { q, _ := d.rig.Watch.Quarantine(uuid); return q != nil }); err != nil {
		return 0, err
	}
	q, quarantined := d.rig.Watch.Quarantine(uuid)
	d.say("the training jobs end; GPU %d of %s cannot remap a memory row: %s, needs %s", downGPU, downNode, q.Spec.Reason, q.Spec.Action)
	d.rig.Telemetry.Kill()
	d.rig.Scheduler.Kill()
	d.say("telemetry is killed, and the scheduler is restarted without it")
	return quarantined, d.rig.Scheduler.Restart(ctx)
}

// night starts a pod without GPU, pods that any node may serve, and pods that only the
// node of the bad device may, which are to be turned away for it.
func (d *day) night(ctx context.Context, uuid string, pods, pinned int) error {
	if err := d.create(ctx, rig.Workload{Namespace: "night", Name: "cpu"}, 1); err != nil {
		return err
	}
	if err := d.create(ctx, rig.Workload{Namespace: "night", Name: "gpu", Resource: rig.ResourceGPU}, pods); err != nil {
		return err
	}
	if err := d.rig.Create(ctx, rig.Workload{Namespace: "night", Name: "pinned", Resource: rig.ResourceGPU, Node: downNode}, pinned); err != nil {
		return err
	}
	return d.await(ctx, "the pods sent to the node have been decided on", func() bool {
		return d.running("night", "pinned")+d.turnedAway("night", "pinned", uuid) == pinned
	})
}
