//go:build integration

package integration

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"wastenot.dev/placement/packing"
	"wastenot.dev/test/controlplane/simnode"
	"wastenot.dev/test/fixture/rig"
	"wastenot.dev/test/perf/packing/policy"
	"wastenot.dev/test/perf/packing/replay"
	"wastenot.dev/test/perf/packing/trace"
)

const (
	packingNamespace = "packed"
	// packingBatchingEnv, when it is set, also asks what batching changes, which holds nothing.
	packingBatchingEnv = "WASTENOT_PACKING_BATCHING"
	// notReadYet is why a pod waits that comes when the scheduler has only just started.
	notReadYet = "the quarantines have not been read yet"
)

// TestSchedulerPacksLikeTheReplay: what the replays measure is what a cluster does. Pods
// that come one after the other get the very nodes that the replay of the same trace gives
// them and, where the device plugin ranks devices as the replay does, the very devices.
// How far the kubelet's own choice, which is random, is from that is printed.
func TestSchedulerPacksLikeTheReplay(t *testing.T) {
	s := readScaledDown(t)
	want, err := replay.Run(t.Context(), s.experiment(), policy.NewPooled(poolOf))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d nodes with %d devices; %d pods, of which the replay places %d; allocated: %.1f %%",
		len(s.nodes), want.CapacityMilli/trace.WholeMilli, len(want.Rows), placed(want.Rows), s.allocatedPercent(want.Rows))
	// With batching, pods that are equal and come within half a second go by the scores that
	// nodes had for the first of them.
	exact := []string{"--feature-gates=OpportunisticBatching=false"}
	t.Run("ranked devices", func(t *testing.T) {
		got := s.schedule(t, rig.Alone{Prefer: simnode.Ranked, SchedulerArgs: exact})
		s.compareNodes(t, want.Rows, got)
		s.compareDevices(t, want.Rows, got)
	})
	t.Run("random devices", func(t *testing.T) {
		got := s.schedule(t, rig.Alone{SchedulerArgs: exact})
		s.compareNodes(t, want.Rows, got)
		s.tellDevices(t, want.Rows, got)
	})
	if os.Getenv(packingBatchingEnv) == "" {
		return
	}
	t.Run("with batching", func(t *testing.T) {
		got := s.schedule(t, rig.Alone{Prefer: simnode.Ranked})
		t.Logf("%d of %d pods are on other nodes; placed: %d, allocated: %.1f %%", s.countOthers(want.Rows, got), len(got), placed(got), s.allocatedPercent(got))
	})
}

func placed(rows []replay.Row) int {
	count := 0
	for i := range rows {
		if rows[i].Node != "" {
			count++
		}
	}
	return count
}

// schedule sends the pods to a cluster one by one and returns what became of them. A pod
// that finds no room is taken away again, as the replay does not try it twice.
func (s *scaledDown) schedule(t *testing.T, alone rig.Alone) []replay.Row {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	alone.Nodes, alone.Seed = s.specs(), packingSeed
	r, err := rig.StartAlone(ctx, alone)
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	stopAtEnd(t, r, cancel)
	if err := r.Namespace(ctx, packingNamespace, nil); err != nil {
		t.Fatal(err)
	}
	rows := make([]replay.Row, len(s.arrivals))
	for seq := range s.arrivals {
		name := podName(seq)
		if _, err := r.Client.CoreV1().Pods(packingNamespace).Create(ctx, s.pod(seq), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		await(ctx, t, r, name+" is bound or turned away", func() bool {
			p := r.Watch.Pod(packingNamespace, name)
			return p != nil && (p.Node != "" || (p.Waiting != "" && !strings.Contains(p.Waiting, notReadYet)))
		})
		rows[seq] = replay.Row{Seq: seq, Pod: name, Node: r.Watch.Pod(packingNamespace, name).Node}
		if rows[seq].Node == "" {
			if err := r.DeletePod(ctx, packingNamespace, name); err != nil {
				t.Fatal(err)
			}
		}
	}
	readDevices(ctx, t, r, rows)
	return rows
}

// readDevices notes for each pod the devices that its node gave it.
func readDevices(ctx context.Context, t *testing.T, r *rig.Rig, rows []replay.Row) {
	t.Helper()
	await(ctx, t, r, "every node has admitted its pods", func() bool { return len(r.Nodes.Assignments()) >= placed(rows) })
	for _, assignment := range r.Nodes.Assignments() {
		seq, err := strconv.Atoi(strings.TrimPrefix(assignment.Pod.Name, "packed-"))
		if err != nil || assignment.Node != rows[seq].Node {
			t.Fatalf("node %s gave devices to %s, which is bound to %q", assignment.Node, assignment.Pod.Name, rows[seq].Node)
		}
		for _, id := range assignment.IDs {
			device, err := strconv.Atoi(strings.TrimPrefix(r.DeviceOf(id), assignment.Node+"/"))
			if err != nil {
				t.Fatalf("device %s of node %s: %v", id, assignment.Node, err)
			}
			rows[seq].Devices = append(rows[seq].Devices, device)
		}
		slices.Sort(rows[seq].Devices)
	}
}

// compareNodes holds every pod to its node, and explains the first that differs. What
// comes after it follows from it.
func (s *scaledDown) compareNodes(t *testing.T, want, got []replay.Row) {
	t.Helper()
	for seq := range want {
		if want[seq].Node != got[seq].Node {
			t.Errorf("%s: the scheduler chose %s, the replay chose %s", s.describe(seq), s.weigh(t, seq, got[seq].Node), s.weigh(t, seq, want[seq].Node))
			t.Fatalf("%d of %d pods are on other nodes", s.countOthers(want, got), len(want))
		}
	}
	t.Logf("all of %d pods are where the replay puts them, %d of them nowhere", len(want), len(want)-placed(want))
}

func (*scaledDown) countOthers(want, got []replay.Row) int {
	others := 0
	for seq := range want {
		if want[seq].Node != got[seq].Node {
			others++
		}
	}
	return others
}

// allocatedPercent is what the pods hold in the end, of what there is.
func (s *scaledDown) allocatedPercent(rows []replay.Row) float64 {
	var held int64
	for i := range rows {
		if rows[i].Node != "" {
			held += s.arrivals[rows[i].Seq].RequestMilli()
		}
	}
	return 100 * float64(held) / float64(trace.CapacityMilli(s.nodes))
}

// describe names the pod with what it asks for.
func (s *scaledDown) describe(seq int) string {
	pod := &s.arrivals[seq]
	return fmt.Sprintf("pod %d (%d times %d milli, CPU %d, memory %d MiB, models %v)", seq, pod.GPUs, pod.GPUMilli, pod.CPUMilli, pod.MemoryMiB, pod.Models)
}

// weigh says what the node is worth to the pod when it comes, as the replay has it.
func (s *scaledDown) weigh(t *testing.T, seq int, node string) string {
	t.Helper()
	if node == "" {
		return "no node"
	}
	text := "a node that is not there"
	experiment := s.experiment()
	experiment.Arrivals = experiment.Arrivals[:seq+1]
	_, err := replay.Run(t.Context(), experiment, func(c *replay.Cluster, seed uint64) replay.Policy {
		inner := policy.NewPooled(poolOf)(c, seed)
		return &scale{Policy: inner, weigh: func(pod *trace.Pod) {
			cost, ok := inner.(coster).Cost(pod, node)
			for i := range c.Nodes {
				if c.Nodes[i].Name == node {
					text = fmt.Sprintf("%+v at cost %+v (fits: %t)", c.Nodes[i], cost, ok)
				}
			}
		}}
	})
	if err != nil {
		t.Error(err)
	}
	return text
}

// coster is a policy that tells what a pod costs on a node.
type coster interface {
	Cost(pod *trace.Pod, node string) (packing.Cost, bool)
}

// scale asks for a weight at each pod, once the policy knows it and before it is placed.
type scale struct {
	replay.Policy

	weigh func(pod *trace.Pod)
}

func (s *scale) Place(pod *trace.Pod) (int, []int, bool) {
	node, devices, ok := s.Policy.Place(pod)
	s.weigh(pod)
	return node, devices, ok
}

// Placed passes on what the policy wants to hear.
func (s *scale) Placed(pod *trace.Pod, node int, devices []int) {
	if observer, ok := s.Policy.(replay.Observer); ok {
		observer.Placed(pod, node, devices)
	}
}

// compareDevices holds every pod to its devices.
func (s *scaledDown) compareDevices(t *testing.T, want, got []replay.Row) {
	t.Helper()
	for seq := range want {
		wantDevices := slices.Sorted(slices.Values(want[seq].Devices))
		if !slices.Equal(wantDevices, got[seq].Devices) {
			t.Fatalf("%s on %s: the kubelet gave the devices %v, the replay %v", s.describe(seq), want[seq].Node, got[seq].Devices, wantDevices)
		}
	}
	t.Logf("all of %d pods have the devices that the replay gives them", placed(want))
}

// tellDevices prints how many devices the time slices lie on as the pods come.
func (s *scaledDown) tellDevices(t *testing.T, want, got []replay.Row) {
	t.Helper()
	const steps = 4
	others, more, most := 0, 0, 0
	for seq := range want {
		if want[seq].Node != "" && !slices.Equal(slices.Sorted(slices.Values(want[seq].Devices)), got[seq].Devices) {
			others++
		}
		ranked, random := s.slicesHeld(want[:seq+1]), s.slicesHeld(got[:seq+1])
		if excess := random.touched - ranked.touched; excess > 0 {
			more, most = more+1, max(most, excess)
		}
		if (seq+1)%(len(want)/steps) == 0 {
			t.Logf("after %d pods %d slices are on %d devices ranked (%d of them full), on %d at random (%d of them full)",
				seq+1, ranked.slices, ranked.touched, ranked.full, random.touched, random.full)
		}
	}
	t.Logf("at random %d of %d pods have other devices; more devices are touched after %d of the %d pods, at most %d more",
		others, placed(want), more, len(want), most)
}

type held struct{ slices, touched, full int }

// slicesHeld counts the slices that are held, the devices that they are on, and those of
// the devices that have no other left.
func (s *scaledDown) slicesHeld(rows []replay.Row) held {
	used := map[string]int{}
	var h held
	for i := range rows {
		if !s.arrivals[rows[i].Seq].Fractional() {
			continue
		}
		for _, device := range rows[i].Devices {
			used[fmt.Sprintf("%s/%d", rows[i].Node, device)]++
			h.slices++
		}
	}
	h.touched = len(used)
	for _, count := range used {
		if count == replicas {
			h.full++
		}
	}
	return h
}
