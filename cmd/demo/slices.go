package main

import (
	"context"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/test/fixture/rig"
)

// slices places the same 60 slice pods under stock and under our profile.
func (d *day) slices(ctx context.Context) error {
	d.say("60 slice pods arrive: 30 ask for a MIG 1g.5gb, 30 for a time slice; first under stock kube-scheduler, then under ours")
	stock, err := d.placeSlices(ctx, "slices-stock", rig.StockScheduler)
	if err != nil {
		return err
	}
	ours, err := d.placeSlices(ctx, "slices-ours", v1alpha1.SchedulerName)
	if err != nil {
		return err
	}
	d.say("stock touched %d GPUs, ours %d: %d GPUs stay whole", stock, ours, stock-ours)
	d.add("c", "the same 60 slice pods touch fewer devices under our profile than under stock", ours < stock,
		"GPUs touched: ours %d, stock %d (of 96 that offer slices)", ours, stock)
	return nil
}

func (d *day) placeSlices(ctx context.Context, namespace, scheduler string) (touched int, err error) {
	if err := d.rig.Create(ctx, rig.Workload{Namespace: namespace, Name: "notebook", Scheduler: scheduler, Resource: rig.ResourceMIG1g}, 30); err != nil {
		return 0, err
	}
	if err := d.rig.Create(ctx, rig.Workload{Namespace: namespace, Name: "serve", Scheduler: scheduler, Resource: rig.ResourceShared}, 30); err != nil {
		return 0, err
	}
	if err := d.await(ctx, "60 slice pods run under "+scheduler, func() bool {
		return d.running(namespace, "notebook")+d.running(namespace, "serve") == 60
	}); err != nil {
		return 0, err
	}
	touched = len(d.touched(append(d.pods(namespace, "notebook"), d.pods(namespace, "serve")...)))
	return touched, d.rig.Delete(ctx, namespace)
}
