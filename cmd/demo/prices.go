package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/test/fixture/rig"
)

// priceBook prices what no cloud rents out: the nodes of the cluster's own.
const priceBook = `
rules:
  - product: NVIDIA-H200
    perDeviceHour: "4.20"
    pricingModel: amortised
    source: finance
`

// prices shows what pods of each kind cost, before and after their nodes are known.
func (d *day) prices(ctx context.Context) error {
	const namespace = "prices"
	if err := d.rig.SetConfig(ctx, v1alpha1.PricesConfigMap, v1alpha1.PricesKey, priceBook); err != nil {
		return err
	}
	if err := d.rig.ClaimTemplate(ctx, namespace, "one-gpu", rig.ClassGPU, 1); err != nil {
		return err
	}
	kinds := []struct{ what, name, basis string }{
		{"whole GPU", "whole", "whole"}, {"MIG 1g.5gb", "mig", "mig"}, {"time slice", "slice", "timeslice"}, {"DRA claim", "claim", "dra"},
	}
	workloads := map[string]rig.Workload{
		"whole": {Resource: rig.ResourceGPU}, "mig": {Resource: rig.ResourceMIG1g}, "slice": {Resource: rig.ResourceShared}, "claim": {Template: "one-gpu"},
	}
	var lines []string
	holds := true
	for _, kind := range kinds {
		w := workloads[kind.name]
		w.Namespace, w.Name = namespace, kind.name
		// The book takes effect a moment after it was written.
		if err := d.awaitPrice(ctx, w, kind.basis); err != nil {
			return err
		}
		if err := d.create(ctx, w, 1); err != nil {
			return err
		}
		p := d.rig.Watch.Pod(namespace, kind.name+"-0")
		line, ok := priced(p, kind.basis)
		lines = append(lines, fmt.Sprintf("%-11s%s", kind.what, line))
		holds = holds && ok
	}
	d.say("pods of four kinds were priced, first by where they could land, then by where they did:")
	for _, line := range lines {
		d.say("    %s", line)
	}
	d.add("g", "a whole GPU, a MIG instance, a time slice and a DRA claim bear their price at admission and after binding, the second within the first", holds,
		"%s", strings.Join(lines, "\n         "))
	return d.rig.Delete(ctx, namespace)
}

// awaitPrice waits until a pod of the workload would be priced, creating none.
func (d *day) awaitPrice(ctx context.Context, w rig.Workload, basis string) error {
	return d.await(ctx, "the price of a "+w.Name+" pod is known", func() bool {
		pod, err := d.rig.DryRun(ctx, w.Pod("dry"))
		return err == nil && pod.Annotations[v1alpha1.AnnotationBasis] == basis && pod.Annotations[v1alpha1.AnnotationHourlyMax] != v1alpha1.Unknown
	})
}

// priced tells what the pod's annotations say, and whether they are whole: bounds at
// admission, and a price after binding that lies within them.
func priced(p *rig.Pod, basis string) (line string, ok bool) {
	least, most := p.Admitted[v1alpha1.AnnotationHourlyMin], p.Admitted[v1alpha1.AnnotationHourlyMax]
	bound, early := p.Annotations[v1alpha1.AnnotationBoundHourly], p.Admitted[v1alpha1.AnnotationBoundHourly]
	line = fmt.Sprintf("admitted at %s to %s %s/h (%s, %s), bound at %s %s/h on %s (%s, book %s)",
		least, most, p.Admitted[v1alpha1.AnnotationCurrency], p.Admitted[v1alpha1.AnnotationBasis], p.Admitted[v1alpha1.AnnotationConfidence],
		bound, p.Annotations[v1alpha1.AnnotationCurrency], p.Node, p.Annotations[v1alpha1.AnnotationBasis], p.Annotations[v1alpha1.AnnotationPriceBook])
	low, errLow := strconv.ParseFloat(least, 64)
	high, errHigh := strconv.ParseFloat(most, 64)
	exact, errExact := strconv.ParseFloat(bound, 64)
	return line, errLow == nil && errHigh == nil && errExact == nil && low > 0 && low <= exact && exact <= high && early == "" &&
		p.Admitted[v1alpha1.AnnotationBasis] == basis && p.Annotations[v1alpha1.AnnotationBasis] == basis
}
