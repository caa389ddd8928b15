package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"wastenot.dev/test/fixture/rig"
)

// The device that falls off the bus.
const (
	faultyNode = "h100-03"
	faultyGPU  = 5
)

// arrivals is how many jobs come after the fault.
const arrivals = 48

// fault lets a GPU fall off the bus while jobs arrive, and counts who got it.
func (d *day) fault(ctx context.Context) error {
	uuid := rig.UUID(faultyNode, faultyGPU)
	if err := d.create(ctx, rig.Workload{Namespace: "train", Name: "night", Resource: rig.ResourceGPU, Node: "h100-00"}, 4); err != nil {
		return err
	}
	d.say("4 training jobs run; GPU %d of %s falls off the bus: its exporter now says XID 79 and nothing else", faultyGPU, faultyNode)

	began := time.Now()
	d.rig.Exporters[faultyNode].FallOffBus(faultyGPU)
	honoured, err := d.probe(ctx, uuid)
	if err != nil {
		return err
	}
	delay := honoured.Sub(began)
	if err := d.await(ctx, "the device is quarantined", func() bool { q, _ := d.rig.Watch.Quarantine(uuid); return q != nil }); err != nil {
		return err
	}
	q, revision := d.rig.Watch.Quarantine(uuid)
	d.say("the scheduler turned the first pod away after %s; Quarantine %s exists: %s, needs %s", seconds(delay), q.Name, q.Spec.Reason, q.Spec.Action)
	d.add("b", "seconds from the changed exposition to the first decision that honours it", delay < patience,
		"%s with a scrape interval of %s", seconds(delay), scrapeInterval)

	d.say("%d jobs arrive that any H100 or T4 could serve", arrivals)
	if err := d.create(ctx, rig.Workload{Namespace: "train", Name: "job", Resource: rig.ResourceGPU}, arrivals); err != nil {
		return err
	}
	return d.countFaulty(ctx, uuid, revision)
}

// countFaulty counts the pods that hold the faulty device, by when they were bound,
// and sends pods there under stock to show that the device could be had.
func (d *day) countFaulty(ctx context.Context, uuid string, quarantined int64) error {
	bound := func(late, got bool) int {
		return d.rig.Count(func(p rig.Pod) bool {
			return p.Namespace == "train" && p.Node != "" && p.BoundRevision > quarantined == late && (!got || holds(p, uuid))
		})
	}
	before, after, arrived := bound(false, true), bound(true, true), bound(true, false)
	unused := gpusPerNode - 1
	for id := range d.rig.Nodes.Holders(faultyNode) {
		if id != uuid {
			unused--
		}
	}
	if err := d.create(ctx, rig.Workload{Namespace: "stock", Name: "job", Resource: rig.ResourceGPU, Scheduler: rig.StockScheduler, Node: faultyNode}, unused+1); err != nil {
		return err
	}
	stock := d.rig.Count(func(p rig.Pod) bool { return p.Namespace == "stock" && holds(p, uuid) })
	d.say("%d of %d pods bound since got GPU %d; stock kube-scheduler gave it to %d of %d pods sent to the node", after, arrived, faultyGPU, stock, unused+1)
	if err := d.rig.Delete(ctx, "stock"); err != nil {
		return err
	}
	d.add("a", "no pod bound after the Quarantine existed was allocated the faulted device", after == 0 && arrived >= 40 && stock == 1,
		"%d of %d pods bound after; %d bound before it; under stock %d; healthy GPUs that strict mode left unused: %d", after, arrived, before, stock, unused)
	return nil
}

func holds(p rig.Pod, uuid string) bool {
	for _, ids := range p.Devices {
		if slices.ContainsFunc(ids, func(id string) bool { return strings.HasPrefix(id, uuid) }) {
			return true
		}
	}
	return false
}

// probe sends small pods to the faulty node until one is turned away for the device,
// and returns when that was seen. Each runs for a moment only.
func (d *day) probe(ctx context.Context, uuid string) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	const pace = 50 * time.Millisecond
	turnedAway := func() bool {
		for _, p := range d.pods("train", "probe") {
			if strings.Contains(p.Waiting, uuid) {
				return true
			}
		}
		return false
	}
	for i := 0; ; i++ {
		name := fmt.Sprintf("probe-%d", i)
		if err := d.rig.Create(ctx, rig.Workload{Namespace: "train", Name: name, Resource: rig.ResourceGPU, Node: faultyNode, RunFor: 200 * time.Millisecond}, 1); err != nil {
			return time.Time{}, err
		}
		round, stop := context.WithTimeout(ctx, pace)
		err := d.rig.Watch.Await(round, "a probe is turned away", turnedAway)
		stop()
		if err == nil {
			return time.Now(), nil
		}
		if ctx.Err() != nil {
			return time.Time{}, fmt.Errorf("no probe was turned away for %s: %w", uuid, ctx.Err())
		}
	}
}
