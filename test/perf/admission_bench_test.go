//go:build integration

package perf

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/test/fixture/exporter"
	"wastenot.dev/test/fixture/rig"
)

const (
	// creates at this pace make one run.
	creates = 500
	pace    = time.Second / 50
)

// BenchmarkAdmission measures how long it takes to create a pod at 50 pods a second, with
// our webhooks and then, on the same server, without: accelerator pods of one team whose
// namespace enforces, so that each create is one more entry in one ledger, and pods
// without accelerators, which no webhook of ours should see.
func BenchmarkAdmission(b *testing.B) {
	ctx, cancel := context.WithCancel(b.Context())
	var nodes []rig.NodeSpec
	for i := range 8 {
		nodes = append(nodes, rig.NodeSpec{
			Name: fmt.Sprintf("gpu-%d", i), Model: "NVIDIA H100 80GB HBM3", Template: exporter.A100, Kind: rig.Whole, GPUs: 8, Group: "train", InstanceType: "p5.48xlarge",
		})
	}
	r, err := rig.Start(ctx, rig.Options{Nodes: nodes, Webhooks: 3, ScrapeInterval: 5 * time.Second, Probation: time.Minute, Progress: os.Stderr, Seed: 1})
	if err != nil {
		cancel()
		b.Fatal(err)
	}
	b.Cleanup(func() {
		cancel()
		if err := r.Stop(); err != nil {
			b.Error(err)
		}
		_ = os.RemoveAll(r.Dir()) // Logs of a run that is over.
	})
	prepare(ctx, b, r)
	gpu := rig.Workload{Namespace: "bench", Resource: rig.ResourceGPU, RunFor: 100 * time.Millisecond}
	cpu := rig.Workload{Namespace: "bench", RunFor: 100 * time.Millisecond}
	b.Run("accelerator/with", func(b *testing.B) { series(ctx, b, r, gpu) })
	b.Run("cpu/with", func(b *testing.B) { series(ctx, b, r, cpu) })
	removeWebhooks(ctx, b, r)
	b.Run("accelerator/without", func(b *testing.B) { series(ctx, b, r, gpu) })
	b.Run("cpu/without", func(b *testing.B) { series(ctx, b, r, cpu) })
}

// prepare gives the team more quota than it will use.
func prepare(ctx context.Context, b *testing.B, r *rig.Rig) {
	b.Helper()
	if err := r.SetConfig(ctx, v1alpha1.QuotaConfigMap, v1alpha1.QuotaKey, "teams: [{name: bench, owner: o, limits: {devices: 100000}}]"); err != nil {
		b.Fatal(err)
	}
	if err := r.Namespace(ctx, "bench", map[string]string{v1alpha1.LabelTeam: "bench", v1alpha1.LabelMode: string(v1alpha1.ModeEnforce)}); err != nil {
		b.Fatal(err)
	}
	if err := r.Watch.Await(ctx, "the ledger is counted", func() bool {
		ledger, err := r.Ledger(ctx, "bench")
		return err == nil && ledger.Status.AsOf != nil
	}); err != nil {
		b.Fatal(err)
	}
}

func removeWebhooks(ctx context.Context, b *testing.B, r *rig.Rig) {
	b.Helper()
	admission := r.Client.AdmissionregistrationV1()
	if err := admission.MutatingWebhookConfigurations().Delete(ctx, "wastenot-webhook", metav1.DeleteOptions{}); err != nil {
		b.Fatal(err)
	}
	if err := admission.ValidatingWebhookConfigurations().Delete(ctx, "wastenot-webhook", metav1.DeleteOptions{}); err != nil {
		b.Fatal(err)
	}
	time.Sleep(2 * time.Second) // Until the API server has noticed.
}

var names int

// series creates pods at the pace, each whether or not the one before was answered.
func series(ctx context.Context, b *testing.B, r *rig.Rig, w rig.Workload) {
	before := webhookCalls(ctx, b, r)
	var took []time.Duration
	for range b.N {
		took = append(took, once(ctx, b, r, w)...)
	}
	slices.Sort(took)
	at := func(share float64) float64 {
		return float64(took[int(share*float64(len(took)-1))].Microseconds()) / 1000
	}
	b.ReportMetric(at(0.5), "ms-p50")
	b.ReportMetric(at(0.99), "ms-p99")
	b.ReportMetric(at(1), "ms-max")
	b.ReportMetric(float64(webhookCalls(ctx, b, r)-before)/float64(len(took)), "webhookcalls/create")
	b.ReportMetric(0, "ns/op")
}

func once(ctx context.Context, b *testing.B, r *rig.Rig, w rig.Workload) []time.Duration {
	b.Helper()
	took := make([]time.Duration, creates)
	var all sync.WaitGroup
	ticker := time.NewTicker(pace)
	defer ticker.Stop()
	for i := range creates {
		<-ticker.C
		names++
		pod := w.Pod(fmt.Sprintf("p-%d", names))
		all.Go(func() {
			began := time.Now()
			if _, err := r.Client.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{}); err != nil {
				b.Errorf("creating %s: %v", pod.Name, err)
			}
			took[i] = time.Since(began)
		})
	}
	all.Wait()
	return took
}

var ourCalls = regexp.MustCompile(`(?m)^apiserver_admission_webhook_admission_duration_seconds_count\{name="[^"]*\.wastenot\.dev".* ([0-9.e+]+)$`)

// webhookCalls is how often the API server has called webhooks of ours, by its own count.
func webhookCalls(ctx context.Context, b *testing.B, r *rig.Rig) int {
	b.Helper()
	text, err := r.Client.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		b.Fatal(err)
	}
	sum := 0
	for _, match := range ourCalls.FindAllSubmatch(text, -1) {
		count, err := strconv.ParseFloat(string(match[1]), 64)
		if err != nil {
			b.Fatal(err)
		}
		sum += int(count)
	}
	return sum
}
