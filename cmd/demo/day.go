package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"wastenot.dev/test/fixture/exporter"
	"wastenot.dev/test/fixture/rig"
)

const (
	scrapeInterval = time.Second
	probation      = 4 * time.Second
	// patience bounds every step of the day.
	patience = 60 * time.Second
)

// policy makes throttling count within the short day.
const policy = "throttle: {suspectAfter: 2s, degradedAfter: 10m}\n"

// day is the running story.
type day struct {
	*teller
	rig  *rig.Rig
	rows []row
}

// play plays the day. It tells whether every line of the table holds.
func play(ctx context.Context, once, helm bool) (passed bool, err error) {
	tell := &teller{out: os.Stdout, began: time.Now()}
	nodes := fleet()
	tell.say("starting etcd, kube-apiserver, controllers, %d nodes with %d GPUs and their exporters, telemetry, 3 webhook replicas, the scheduler",
		len(nodes), len(nodes)*gpusPerNode)
	r, err := rig.Start(ctx, rig.Options{
		Nodes: nodes, ScrapeInterval: scrapeInterval, Probation: probation, Policy: policy, Webhooks: 3, Helm: helm, Progress: tell, Seed: uint64(time.Now().UnixNano()),
	})
	if err != nil {
		return false, err
	}
	defer func() {
		stopErr := r.Stop()
		if err == nil {
			err = stopErr
		}
		if err != nil || !passed {
			fmt.Fprintf(os.Stderr, "logs of our processes: %s\n", r.Dir())
			return
		}
		err = os.RemoveAll(r.Dir())
	}()
	d := &day{teller: tell, rig: r}
	for _, chapter := range []func(context.Context) error{d.morning, d.teams, d.prices, d.slices, d.fault, d.throttle, d.recovery, d.telemetryDown} {
		if err := chapter(ctx); err != nil {
			return false, err
		}
	}
	passed = table(tell.out, d.rows)
	if once {
		return passed, nil
	}
	tell.say("the cluster keeps running until you interrupt; look around with")
	fmt.Fprintf(tell.out, "\n    export KUBECONFIG=%s\n    kubectl get quarantines -o wide\n    kubectl get quotaledgers\n    kubectl get nodes -L eks.amazonaws.com/nodegroup\n    curl -s http://%s/metrics | grep wastenot_device_grade\n\n", r.Cluster.Kubeconfig(), r.TelemetryHTTP())
	<-ctx.Done()
	return passed, nil
}

func (d *day) add(name, claim string, holds bool, measured string, args ...any) {
	d.rows = append(d.rows, row{name: name, claim: claim, holds: holds, measured: fmt.Sprintf(measured, args...)})
}

// await waits for a condition, for as long as a step may take.
func (d *day) await(ctx context.Context, what string, condition func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return d.rig.Watch.Await(ctx, what, condition)
}

// create makes the pods and waits until all of them run.
func (d *day) create(ctx context.Context, w rig.Workload, n int) error {
	if err := d.rig.Create(ctx, w, n); err != nil {
		return err
	}
	return d.await(ctx, fmt.Sprintf("%d pods %s/%s run", n, w.Namespace, w.Name), func() bool { return d.running(w.Namespace, w.Name) == n })
}

// running counts the pods of a workload that run.
func (d *day) running(namespace, name string) int {
	count := 0
	for _, p := range d.pods(namespace, name) {
		if p.Phase == "Running" {
			count++
		}
	}
	return count
}

// pods are the pods of a workload that are not gone.
func (d *day) pods(namespace, name string) []rig.Pod {
	var out []rig.Pod
	for _, p := range d.rig.Watch.Pods() {
		if p.Namespace == namespace && strings.HasPrefix(p.Name, name+"-") && !p.Deleted {
			out = append(out, p)
		}
	}
	return out
}

// touched are the GPUs that the pods hold something of, from what the kubelets
// reported.
func (d *day) touched(pods []rig.Pod) map[string]int {
	gpus := map[string]int{}
	for _, p := range pods {
		for _, ids := range p.Devices {
			for _, id := range ids {
				gpus[d.rig.DeviceOf(id)]++
			}
		}
	}
	return gpus
}

// morning says what telemetry makes of the fleet.
func (d *day) morning(ctx context.Context) error {
	all, silent := 0, 0
	for _, node := range fleet() {
		all += node.GPUs
		if node.Template == exporter.L4 {
			silent += node.GPUs
		}
	}
	var grades map[string]int
	err := d.await(ctx, fmt.Sprintf("telemetry has read all %d GPUs", all), func() bool {
		read, err := d.rig.Grades(ctx)
		grades = read
		return err == nil && total(read) == all && read["Healthy"] == all-silent
	})
	if err != nil {
		return err
	}
	d.say("telemetry has read %d GPUs: %d Healthy, %d Unknown (the L4 exporters report no XID; unknown is not shown as healthy)", all, grades["Healthy"], grades["Unknown"])
	return nil
}

func total(counts map[string]int) int {
	sum := 0
	for _, n := range counts {
		sum += n
	}
	return sum
}
