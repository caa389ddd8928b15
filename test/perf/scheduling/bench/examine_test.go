//go:build perf

package bench

import (
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/kubernetes/test/utils/client-go/ktesting"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/test/perf/scheduling/workload"
)

// examine looks, when all pods are scheduled and everything still runs, whether the run
// was what it should be: our profile must have priced the pods that it bound. It keeps how
// often pods were batched.
func examine(tCtx ktesting.TContext, p profile, w workload.Workload) {
	if tCtx.Failed() {
		return // Then the reason stands already.
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(tCtx), patience)
	defer cancel()
	pods, err := tCtx.Client().CoreV1().Pods(workload.MeasuredNamespace).List(ctx, metav1.ListOptions{Limit: 20})
	if err != nil {
		tCtx.Errorf("listing measured pods: %v", err)
		return
	}
	wantPrice := p != stock && w.Kind != workload.Plain
	for i := range pods.Items {
		pod := &pods.Items[i]
		price := pod.Annotations[v1alpha1.AnnotationBoundHourly]
		if priced := price != "" && price != v1alpha1.Unknown; pod.Spec.NodeName == "" || priced != wantPrice {
			tCtx.Errorf("pod %s on node %q was bound for %q an hour, want a price: %v", pod.Name, pod.Spec.NodeName, price, wantPrice)
		}
	}
	if err := keepBatching(); err != nil {
		tCtx.Errorf("keeping how often pods were batched: %v", err)
	}
}

// keepBatching writes how many attempts to use a batch ended how, beside the other
// measurements.
func keepBatching() error {
	const metric = "scheduler_batch_attempts_total"
	families, err := legacyregistry.DefaultGatherer.Gather()
	if err != nil {
		return err
	}
	attempts := map[string]float64{}
	for _, family := range families {
		if family.GetName() != metric {
			continue
		}
		for _, m := range family.GetMetric() {
			for _, label := range m.GetLabel() {
				if label.GetName() == "result" {
					attempts[label.GetValue()] += m.GetCounter().GetValue()
				}
			}
		}
	}
	text, err := json.Marshal(attempts)
	if err != nil {
		return err
	}
	// The flag is upstream's.
	return os.WriteFile(filepath.Join(flag.Lookup("data-items-dir").Value.String(), "batching.json"), text, 0o600)
}
