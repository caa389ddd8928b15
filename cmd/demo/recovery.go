package main

import (
	"context"
	"time"

	"wastenot.dev/test/fixture/rig"
)

// recovery repairs the device while a pod waits for its node.
func (d *day) recovery(ctx context.Context) error {
	uuid := rig.UUID(faultyNode, faultyGPU)
	if err := d.rig.Create(ctx, rig.Workload{Namespace: "train", Name: "eight", Resource: rig.ResourceGPU, Count: 3, Node: faultyNode}, 1); err != nil {
		return err
	}
	if err := d.await(ctx, "the pod is parked", func() bool { p := d.rig.Watch.Pod("train", "eight-0"); return p != nil && p.Waiting != "" }); err != nil {
		return err
	}
	d.say("a pod that wants 3 GPUs of %s waits: %s", faultyNode, d.rig.Watch.Pod("train", "eight-0").Waiting)
	repaired := time.Now()
	d.rig.Exporters[faultyNode].Restore(faultyGPU)
	d.say("the node was reset: its exporter reads clean again; probation of %s begins", probation)

	if err := d.await(ctx, "the quarantine ends", func() bool { q, _ := d.rig.Watch.Quarantine(uuid); return q == nil }); err != nil {
		return err
	}
	recovered := time.Now()
	if err := d.await(ctx, "the parked pod is bound", func() bool { p := d.rig.Watch.Pod("train", "eight-0"); return p != nil && p.Node != "" }); err != nil {
		return err
	}
	pod, ended := d.rig.Watch.Pod("train", "eight-0"), d.rig.Watch.Ended(uuid)
	delay := max(pod.BoundAt.Sub(recovered), 0)
	d.say("the quarantine ended and the parked pod was bound %s later", seconds(delay))
	d.add("d", "seconds from recovery (after probation) to the parked pod's binding, which is not before the quarantine ended",
		ended > 0 && pod.BoundRevision > ended,
		"%s after the quarantine ended; %s after the exposition was clean, of which %s probation", seconds(delay), seconds(recovered.Add(delay).Sub(repaired)), probation)
	return nil
}
