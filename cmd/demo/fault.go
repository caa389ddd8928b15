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
	honoured, turnedAway, err := d.probe(ctx, uuid)
	if err != nil {
		return err
	}
	delay := honoured.Sub(began)
	if err := d.await(ctx, "the device is quarantined", func() bool { q, _ := d.rig.Watch.Quarantine(uuid); return q != nil }); err != nil {
		return err
	}
	q, revision := d.rig.Watch.Quarantine(uuid)
	if turnedAway {
		d.say("the scheduler turned the first pod away after %s", seconds(delay))
	}
	d.say("Quarantine %s exists: %s, needs %s", q.Name, q.Spec.Reason, q.Spec.Action)

	d.say("%d jobs arrive that any H100 or T4 could serve", arrivals)
	if err := d.create(ctx, rig.Workload{Namespace: "train", Name: "job", Resource: rig.ResourceGPU}, arrivals); err != nil {
		return err
	}
	served := d.rig.Count(func(p rig.Pod) bool {
		return strings.HasPrefix(p.Name, "probe-") && p.BoundRevision > revision && holds(p, uuid)
	})
	d.add("b", "seconds from the changed exposition to the first decision that honours it; no probe gets the device once the Quarantine exists",
		turnedAway && served == 0,
		"%s with a scrape interval of %s; %d probes got the device after the Quarantine existed", seconds(delay), scrapeInterval, served)
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
	stock, sent, err := d.fillUnderStock(ctx, faultyNode, uuid)
	if err != nil {
		return err
	}
	d.say("%d of %d pods bound since got GPU %d; stock kube-scheduler gave it to %d of %d pods sent to the node", after, arrived, faultyGPU, stock, sent)
	d.add("a", "no pod bound after the Quarantine existed was allocated the faulted device", after == 0 && arrived >= 40 && stock == 1,
		"%d of %d pods bound after; %d bound before it; under stock %d; healthy GPUs that strict mode left unused: %d", after, arrived, before, stock, sent-1)
	return nil
}

// fillUnderStock sends a pod to the node for each GPU that nobody holds, under a
// profile without anything of ours, and returns how many got the device. They are gone
// when it returns.
func (d *day) fillUnderStock(ctx context.Context, node, uuid string) (got, sent int, err error) {
	sent = gpusPerNode - len(d.rig.Nodes.Holders(node))
	if err := d.create(ctx, rig.Workload{Namespace: "stock", Name: "job", Resource: rig.ResourceGPU, Scheduler: rig.StockScheduler, Node: node}, sent); err != nil {
		return 0, sent, err
	}
	got = d.rig.Count(func(p rig.Pod) bool { return p.Namespace == "stock" && holds(p, uuid) })
	return got, sent, d.rig.Delete(ctx, "stock")
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
// and returns when that was seen, or false when the step's time is over. Each runs for
// a moment only.
func (d *day) probe(ctx context.Context, uuid string) (at time.Time, turnedAway bool, err error) {
	step, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	const pace = 50 * time.Millisecond
	for i := 0; step.Err() == nil; i++ {
		name := fmt.Sprintf("probe-%d", i)
		if err := d.rig.Create(ctx, rig.Workload{Namespace: "train", Name: name, Resource: rig.ResourceGPU, Node: faultyNode, RunFor: 200 * time.Millisecond}, 1); err != nil {
			return time.Time{}, false, err
		}
		round, stop := context.WithTimeout(step, pace)
		err := d.rig.Watch.Await(round, "a probe is turned away", func() bool { return d.turnedAway("train", "probe", uuid) > 0 })
		stop()
		if err == nil {
			return time.Now(), true, nil
		}
	}
	return time.Now(), false, ctx.Err()
}

// turnedAway counts the pods of a workload that wait because of the device.
func (d *day) turnedAway(namespace, name, uuid string) int {
	count := 0
	for _, p := range d.pods(namespace, name) {
		if p.Node == "" && strings.Contains(p.Waiting, uuid) {
			count++
		}
	}
	return count
}
