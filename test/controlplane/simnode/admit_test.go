package simnode

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

func TestPlan(t *testing.T) {
	tests := map[string]struct {
		node        Node
		before      []*corev1.Pod
		pod         *corev1.Pod
		wantCounts  map[string]int // container/resource -> ids
		wantReason  string
		wantMessage string
		wantHeld    int
	}{
		"gives what the limits ask for": {
			node:       testNode(),
			pod:        testPod("p", want(gpu, "2", slice, "1"), want(gpu, "1")),
			wantCounts: map[string]int{"c0/nvidia.com/gpu": 2, "c0/nvidia.com/mig-1g.5gb": 1, "c1/nvidia.com/gpu": 1},
			wantHeld:   4,
		},
		"leaves a resource alone that the node has no plugin for": {
			node:       testNode(),
			pod:        testPod("p", want(corev1.ResourceName("example.com/other"), "3")),
			wantCounts: map[string]int{},
		},
		"rejects more than is free": {
			node:        testNode(),
			before:      []*corev1.Pod{testPod("q", want(gpu, "3"))},
			pod:         testPod("p", want(gpu, "2")),
			wantReason:  "UnexpectedAdmissionError",
			wantMessage: "Allocate failed due to requested number of devices unavailable for nvidia.com/gpu. Requested: 2, Available: 1, which is unexpected",
		},
		"does not count unhealthy devices as free": {
			node:        testNode(0, 1),
			pod:         testPod("p", want(gpu, "3")),
			wantReason:  "UnexpectedAdmissionError",
			wantMessage: "Allocate failed due to requested number of devices unavailable for nvidia.com/gpu. Requested: 3, Available: 2, which is unexpected",
		},
		"rejects when nothing is healthy": {
			node:        testNode(0, 1, 2, 3),
			pod:         testPod("p", want(gpu, "1")),
			wantReason:  "UnexpectedAdmissionError",
			wantMessage: "Allocate failed due to no healthy devices present; cannot allocate unhealthy devices nvidia.com/gpu, which is unexpected",
		},
		"lets app containers use what init containers are done with": {
			node:       testNode(),
			pod:        withInit(testPod("p", want(gpu, "4")), "init", false, want(gpu, "4")),
			wantCounts: map[string]int{"init/nvidia.com/gpu": 4, "c0/nvidia.com/gpu": 4},
			wantHeld:   4,
		},
		"adds free devices to reused ones": {
			node:       testNode(),
			pod:        withInit(testPod("p", want(gpu, "3")), "init", false, want(gpu, "1")),
			wantCounts: map[string]int{"init/nvidia.com/gpu": 1, "c0/nvidia.com/gpu": 3},
			wantHeld:   3,
		},
		"keeps reused devices from a second app container": {
			node:        testNode(),
			pod:         withInit(testPod("p", want(gpu, "3"), want(gpu, "2")), "init", false, want(gpu, "3")),
			wantReason:  "UnexpectedAdmissionError",
			wantMessage: "Allocate failed due to requested number of devices unavailable for nvidia.com/gpu. Requested: 2, Available: 1, which is unexpected",
		},
		"keeps the devices of a sidecar": {
			node:        testNode(),
			pod:         withInit(testPod("p", want(gpu, "3")), "sidecar", true, want(gpu, "2")),
			wantReason:  "UnexpectedAdmissionError",
			wantMessage: "Allocate failed due to requested number of devices unavailable for nvidia.com/gpu. Requested: 3, Available: 2, which is unexpected",
		},
		"lets a sidecar take over from an init container": {
			node: testNode(),
			pod: withInit(withInit(testPod("p", want(gpu, "2")), "init", false, want(gpu, "2")),
				"sidecar", true, want(gpu, "2")),
			wantCounts: map[string]int{"init/nvidia.com/gpu": 2, "sidecar/nvidia.com/gpu": 2, "c0/nvidia.com/gpu": 2},
			wantHeld:   4,
		},
		"rejects when CPU runs out": {
			node:        testNode(),
			before:      []*corev1.Pod{testPod("q", want(corev1.ResourceCPU, "7"))},
			pod:         testPod("p", want(corev1.ResourceCPU, "1500m", gpu, "1")),
			wantReason:  "OutOfcpu",
			wantMessage: "Node didn't have enough resource: cpu, requested: 1500, used: 7000, capacity: 8000",
		},
		"rejects when memory runs out": {
			node:        testNode(),
			pod:         testPod("p", want(corev1.ResourceMemory, "65Gi")),
			wantReason:  "OutOfmemory",
			wantMessage: "Node didn't have enough resource: memory, requested: 69793218560, used: 0, capacity: 68719476736",
		},
		"rejects when the node is full of pods": {
			node:        testNode(),
			before:      []*corev1.Pod{testPod("a"), testPod("b"), testPod("c"), testPod("d"), testPod("e")},
			pod:         testPod("p"),
			wantReason:  "OutOfpods",
			wantMessage: "Node didn't have enough resource: pods, requested: 1, used: 5, capacity: 5",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			inv := testInventory(test.node, 1)
			for _, pod := range test.before {
				p, rejected := inv.plan(pod)
				if rejected != nil {
					t.Fatalf("pod %s: %+v", pod.Name, rejected)
				}
				inv.commit(p)
			}
			p, rejected := inv.plan(test.pod)
			if rejected != nil {
				if rejected.reason != test.wantReason || rejected.message != test.wantMessage {
					t.Errorf("rejected with\n%q %q, want\n%q %q", rejected.reason, rejected.message, test.wantReason, test.wantMessage)
				}
				return
			}
			counts := map[string]int{}
			for _, g := range p.grants {
				counts[g.container+"/"+g.resource] = len(g.ids)
			}
			if diff := cmp.Diff(test.wantCounts, counts); diff != "" {
				t.Errorf("granted (-want +got):\n%s", diff)
			}
			inv.commit(p)
			if len(inv.holders) != test.wantHeld {
				t.Errorf("%d devices are held, want %d", len(inv.holders), test.wantHeld)
			}
		})
	}
}

func TestSharedDeviceBelongsToTheAppContainer(t *testing.T) {
	inv := testInventory(testNode(), 1)
	p, _ := inv.plan(withInit(testPod("p", want(gpu, "1")), "init", false, want(gpu, "1")))
	inv.commit(p)
	for id, holder := range inv.holders {
		if holder.Container != "c0" {
			t.Errorf("device %s is held by container %q, want c0", id, holder.Container)
		}
	}
}

func TestChoiceIsUniform(t *testing.T) {
	const draws = 4000
	seen := map[string]int{}
	inv := testInventory(testNode(), 7)
	for range draws {
		p, _ := inv.plan(testPod("p", want(gpu, "1")))
		seen[p.grants[0].ids[0]]++
	}
	for id, count := range seen {
		// 1000 expected, standard deviation 27; the seed is fixed.
		if count < 850 || count > 1150 {
			t.Errorf("device %s was chosen %d times of %d", id, count, draws)
		}
	}
	if len(seen) != 4 {
		t.Errorf("chosen: %v, want all four", seen)
	}
}

func TestSameSeedSameChoice(t *testing.T) {
	ids := func() []string {
		inv := testInventory(testNode(), 3)
		var all []string
		for _, name := range []string{"a", "b", "c"} {
			p, _ := inv.plan(testPod(name, want(gpu, "1", slice, "1")))
			all = append(all, p.grants[0].ids...)
		}
		return all
	}
	if diff := cmp.Diff(ids(), ids()); diff != "" {
		t.Errorf("two runs differ:\n%s", diff)
	}
}

func TestPreference(t *testing.T) {
	var asked []PreferenceRequest
	inv := testInventory(testNode(1), 1)
	inv.prefer = func(r PreferenceRequest) []string {
		asked = append(asked, r)
		return []string{"g1", "g3", "nonsense", "g3"} // unhealthy, good, unknown, repeated
	}
	p, _ := inv.plan(testPod("p", want(gpu, "2")))
	if !slices.Contains(p.grants[0].ids, "g3") || sets.New(p.grants[0].ids...).HasAny("g1", "nonsense") || len(p.grants[0].ids) != 2 {
		t.Errorf("got %v, want g3 and one of g0, g2", p.grants[0].ids)
	}
	wantAsked := []PreferenceRequest{{Node: "n1", Resource: string(gpu), Available: []string{"g0", "g2", "g3"}, Size: 2}}
	if diff := cmp.Diff(wantAsked, asked, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	if _, rejected := inv.plan(testPod("p", want(gpu, "3"))); rejected != nil || len(asked) != 1 {
		t.Errorf("asked %d times, want no question when there is no choice (%v)", len(asked), rejected)
	}
}

func TestCapacity(t *testing.T) {
	inv := testInventory(testNode(1), 1)
	p, _ := inv.plan(testPod("p", want(gpu, "3")))
	inv.commit(p)
	inv.setHealth("m0", false)
	inv.setHealth("m1", false)
	capacity, allocatable := inv.capacity()
	for name, wants := range map[corev1.ResourceName][2]int64{gpu: {4, 3}, slice: {2, 0}, corev1.ResourcePods: {5, 5}} {
		all, usable := capacity[name], allocatable[name]
		if got := [2]int64{all.Value(), usable.Value()}; got != wants {
			t.Errorf("%s: capacity and allocatable %v, want %v", name, got, wants)
		}
		if _, listed := allocatable[name]; !listed {
			t.Errorf("%s is not listed as allocatable", name)
		}
	}
}

func TestValidateNamesEveryFault(t *testing.T) {
	err := validate([]Node{{Name: "a", Devices: []Device{{ID: "x"}, {ID: "x", Resource: "r"}}}, {Name: "a"}})
	const wantErr = `nodes[0].devices[0]: no resource
nodes[0].devices[1]: id "x" is empty or taken
nodes[1]: name "a" is empty or taken`
	if err == nil || err.Error() != wantErr {
		t.Errorf("got %v, want %s", err, wantErr)
	}
}
