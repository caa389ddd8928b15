package scheduler

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/internal/fleet"
	"wastenot.dev/internal/quarantine"
	"wastenot.dev/placement/packing"
	"wastenot.dev/placement/podrequest"
)

// snapshot is the scheduler's: one NodeInfo for each node, into which changes are written.
type snapshot struct {
	*bench

	random     *rand.Rand
	generation int64
	infos      []fwk.NodeInfo
	// telemetry and quarantined are what was said of each node last.
	telemetry   map[string]*fleet.Node
	quarantined map[string]*v1alpha1.Quarantine
}

func newSnapshot(t *testing.T, seed uint64) *snapshot {
	t.Helper()
	return &snapshot{bench: newBench(t), random: rand.New(rand.NewPCG(seed, 1)), telemetry: map[string]*fleet.Node{}, quarantined: map[string]*v1alpha1.Quarantine{}}
}

func (s *snapshot) at(name string) int {
	return slices.IndexFunc(s.infos, func(info fwk.NodeInfo) bool { return info.Node().Name == name })
}

// node draws a node's object: resources come and go.
func (s *snapshot) node(name string) *corev1.Node {
	counts := map[corev1.ResourceName]int64{"cpu": 8 * (1 + s.random.Int64N(8)), "memory": s.random.Int64N(1 << 40), "pods": 110}
	for _, resource := range []corev1.ResourceName{gpu, mig, "nvidia.com/gpu.shared", "example.com/nic"} {
		if s.random.IntN(2) == 0 {
			counts[resource] = s.random.Int64N(9)
		}
	}
	node := nodeOf(name, counts)
	node.Labels = map[string]string{podrequest.LabelProduct: fmt.Sprint("product-", s.random.IntN(2))}
	return node
}

func (s *snapshot) put(name string, info *fakeNodeInfo) {
	s.generation++
	info.generation = s.generation
	if at := s.at(name); at >= 0 {
		s.infos[at] = info
	} else {
		s.infos = slices.Insert(s.infos, s.random.IntN(len(s.infos)+1), fwk.NodeInfo(info))
	}
}

// event is one thing that happens to the cluster, on one of a few nodes.
func (s *snapshot) event() string {
	name := fmt.Sprint("n", s.random.IntN(6))
	at := s.at(name)
	switch s.random.IntN(9) {
	case 0:
		if at >= 0 {
			s.infos = slices.Delete(slices.Clone(s.infos), at, at+1)
		}
		return "delete " + name
	case 1: // Also in place of one of the name that was deleted in between.
		s.put(name, &fakeNodeInfo{node: s.node(name)})
		return "new " + name
	case 2, 3:
		if at >= 0 {
			info := s.infos[at].(*fakeNodeInfo)
			info.requested = map[corev1.ResourceName]int64{"cpu": s.random.Int64N(9), gpu: s.random.Int64N(9), mig: s.random.Int64N(9)}
			s.put(name, info)
		}
		return "pods on " + name
	case 4:
		if at >= 0 {
			info := s.infos[at].(*fakeNodeInfo)
			info.node = s.node(name)
			s.put(name, info)
		}
		return "update " + name
	case 5, 6:
		changes := []func(*fleet.Device){healthy, failed, failedAndOut, suspect, split("1g.10gb"), func(d *fleet.Device) { d.Activity = v1alpha1.ActivityBusy }}
		s.telemetry[name] = devicesOf(name, changes[s.random.IntN(len(changes))], changes[s.random.IntN(len(changes))])
		if s.random.IntN(5) == 0 {
			delete(s.telemetry, name)
		}
		var nodes []*fleet.Node
		for _, node := range s.telemetry {
			nodes = append(nodes, node)
		}
		s.facts.fleetChanged(s.fleet.set(nodes...))
		return "telemetry of " + name
	case 7:
		s.quarantined[name] = quarantineOf(name, "GPU-"+name+"-0")
		switch s.random.IntN(3) {
		case 0:
			released(s.quarantined[name])
		case 1:
			delete(s.quarantined, name)
		}
		var all []*v1alpha1.Quarantine
		for _, q := range s.quarantined {
			all = append(all, q)
		}
		s.facts.quarantinesChanged(s.quarantines.put(all...))
		return "quarantines on " + name
	default:
		s.fleet.mute = !s.fleet.mute
		return fmt.Sprint("silence: ", s.fleet.mute)
	}
}

// cycle schedules a pod, of which only the look at the nodes matters here.
func (s *snapshot) cycle(t *testing.T) {
	t.Helper()
	s.PreFilter(t.Context(), &fakeCycle{}, podOf(fmt.Sprint("p-", s.random.Uint64()), map[corev1.ResourceName]int64{gpu: 1}), s.infos)
}

// compare fails the test where the index does not have what the nodes are.
func (s *snapshot) compare(t *testing.T, history []string) {
	t.Helper()
	afresh := s.facts.newState(nil)
	layoutsByPointer := cmp.Comparer(func(a, b *packing.Layout) bool { return a == b })
	for i := range 6 {
		name := fmt.Sprint("n", i)
		var want *packing.Node
		if at := s.at(name); at >= 0 {
			node := s.facts.roster.layouts.describe(afresh, s.infos[at])
			want = &node
		}
		if diff := cmp.Diff(want, s.facts.roster.index.Node(name), layoutsByPointer, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("after %s: %s (-is +index):\n%s", strings.Join(history, ", "), name, diff)
		}
	}
}

// TestTheIndexKnowsTheNodesAsTheyAre whatever happens between cycles, in whatever order.
func TestTheIndexKnowsTheNodesAsTheyAre(t *testing.T) {
	t.Parallel()
	for seed := range uint64(150) {
		s := newSnapshot(t, seed)
		s.put("g", &fakeNodeInfo{node: gpuNode("g")}) // Without a GPU anywhere no pod is looked at.
		var history []string
		for range 60 {
			history = append(history, s.event())
			if s.random.IntN(2) == 0 {
				s.cycle(t)
				s.compare(t, history)
				history = append(history, "cycle")
			}
		}
	}
}

// lateFleet has news right after it was read.
type lateFleet struct {
	*fakeFleet

	news func()
}

// Snapshot returns what was known before the news.
func (l *lateFleet) Snapshot() *fleet.Snapshot {
	before := l.fakeFleet.Snapshot()
	if news := l.news; news != nil {
		l.news = nil
		news()
	}
	return before
}

// lateQuarantines have news right after they were read.
type lateQuarantines struct {
	*fakeQuarantines

	news func()
}

// Current returns what was known before the news.
func (l *lateQuarantines) Current() *quarantine.Set {
	before := l.fakeQuarantines.Current()
	if news := l.news; news != nil {
		l.news = nil
		news()
	}
	return before
}

// TestNewsDuringACycleAreNotLost: a cycle works from one snapshot, and what comes after it
// must be looked at in the next.
func TestNewsDuringACycleAreNotLost(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		before func(s *snapshot)
		late   func(s *snapshot)
	}{
		"of telemetry": {
			func(s *snapshot) { s.facts.fleetChanged(s.fleet.set(devicesOf("n0", failed))) },
			func(s *snapshot) {
				s.facts.fleet = &lateFleet{s.fleet, func() { s.facts.fleetChanged(s.fleet.set(devicesOf("n0", healthy))) }}
			},
		},
		"of quarantines": {
			func(s *snapshot) { s.facts.quarantinesChanged(s.quarantines.put(quarantineOf("n0", "GPU-n0-0"))) },
			func(s *snapshot) {
				s.facts.quarantines = &lateQuarantines{s.bench.quarantines, func() { s.facts.quarantinesChanged(s.bench.quarantines.put()) }}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSnapshot(t, 1)
			s.put("n0", &fakeNodeInfo{node: gpuNode("n0")})
			test.before(s)
			s.cycle(t)
			s.compare(t, nil)
			test.late(s)
			s.cycle(t)
			s.cycle(t)
			s.compare(t, []string{"news"})
			if s.facts.roster.dirty.Len() > 0 {
				t.Error("the node is looked at in each cycle from now on")
			}
		})
	}
}

// TestNodesAreNotLookedAtAgainForNothing: describing all nodes of a large cluster in each
// cycle would cost more than the rest of it.
func TestNodesAreNotLookedAtAgainForNothing(t *testing.T) {
	t.Parallel()
	s := newSnapshot(t, 1)
	for _, name := range []string{"n0", "n1", "n2"} {
		s.put(name, &fakeNodeInfo{node: gpuNode(name)})
	}
	s.cycle(t)
	// The change cannot be seen: the generation is the same.
	for _, info := range s.infos {
		info.(*fakeNodeInfo).requested = map[corev1.ResourceName]int64{gpu: 1}
	}
	s.cycle(t)
	s.infos = slices.Clone(s.infos)
	slices.Reverse(s.infos)
	s.cycle(t)
	s.infos = s.infos[1:]
	s.cycle(t)
	kept := s.infos[0].Node().Name
	if free := s.facts.roster.index.Node(kept).Devices[0].Free; free != 2*packing.Whole {
		t.Errorf("%s was described again", kept)
	}
	s.put(kept, s.infos[0].(*fakeNodeInfo))
	s.cycle(t)
	if free := s.facts.roster.index.Node(kept).Devices[0].Free; free != packing.Whole {
		t.Errorf("%s was not described again when its generation had changed", kept)
	}
}

// TestAbsurdAmountsAreBounded: what a device plugin or a person may claim.
func TestAbsurdAmountsAreBounded(t *testing.T) {
	t.Parallel()
	const huge = int64(1) << 62
	b := newBench(t, nodeOf("huge", map[corev1.ResourceName]int64{gpu: huge, "cpu": 1 << 40, "memory": huge}), gpuNode("small"))
	for _, count := range []int64{1, 2, 3, maxPool, maxPool + 1, 1_000_000_000, 1 << 62} {
		pod := podOf(fmt.Sprint("p-", count), map[corev1.ResourceName]int64{gpu: count, "cpu": 1})
		result, status := b.PreFilter(t.Context(), &fakeCycle{}, pod, b.nodeInfos())
		if !status.IsSuccess() {
			t.Fatalf("%d units: %v", count, status)
		}
		switch narrowed := result != nil; {
		case narrowed != (count <= maxPool):
			t.Errorf("%d units: the list is %+v", count, result)
		case narrowed && result.NodeNames.Has("small") != (count <= 2), narrowed && !result.NodeNames.Has("huge"):
			t.Errorf("%d units: the list is %v", count, result.NodeNames)
		}
	}
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	type device struct {
		Name string
		Free uint64
		Tier int8
		Busy int16
	}
	const shared = "nvidia.com/gpu.shared"
	for name, test := range map[string]struct {
		node      *corev1.Node
		requested map[corev1.ResourceName]int64
		prepare   func(b *bench)
		want      []device
		cpu, mib  int64
	}{
		"in order of name": {node: nodeOf("a", map[corev1.ResourceName]int64{mig: 7, gpu: 2, "cpu": 3, "memory": 5<<20 + 1, "example.com/nic": 1}), want: []device{{gpu, 2000, 1, 0}, {mig, 7000, 1, 0}}, cpu: 3000, mib: 5},
		"what is left":     {node: gpuNode("a"), requested: map[corev1.ResourceName]int64{gpu: 1, "cpu": 60}, want: []device{{gpu, 1000, 1, 0}}, cpu: 4000},
		"more is taken":    {node: gpuNode("a"), requested: map[corev1.ResourceName]int64{gpu: 3, "cpu": 65, "memory": 1}, want: []device{{gpu, 0, 1, 0}}},
		"none of it":       {node: nodeOf("a", map[corev1.ResourceName]int64{gpu: 0, mig: 0, "cpu": 1}), cpu: 1000},
		"all are healthy":  {node: gpuNode("a"), prepare: func(b *bench) { b.fleet.set(devicesOf("a", healthy, healthy)) }, want: []device{{gpu, 2000, 0, 0}}, cpu: 64_000},
		"one is suspect":   {node: gpuNode("a"), prepare: func(b *bench) { b.fleet.set(devicesOf("a", healthy, suspect)) }, want: []device{{gpu, 2000, 2, 0}}, cpu: 64_000},
		"one has Failed":   {node: gpuNode("a"), prepare: func(b *bench) { b.fleet.set(devicesOf("a", healthy, failed)) }, cpu: 64_000},
		"it is taken out":  {node: allocatable(gpuNode("a"), gpu, 1), prepare: func(b *bench) { b.fleet.set(devicesOf("a", healthy, failedAndOut)) }, want: []device{{gpu, 1000, 0, 0}}, cpu: 64_000},
		"one is busy": {
			node: nodeOf("a", map[corev1.ResourceName]int64{shared: 8}),
			prepare: func(b *bench) {
				b.fleet.set(devicesOf("a", healthy, func(d *fleet.Device) { d.Activity = v1alpha1.ActivityBusy }))
			},
			want: []device{{shared, 8000, 0, 250}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, test.node)
			if test.prepare != nil {
				test.prepare(b)
			}
			test.node.Labels = map[string]string{podrequest.LabelProduct: "NVIDIA-L4"}
			got := layouts{}.describe(b.facts.newState(nil), &fakeNodeInfo{node: test.node, requested: test.requested})
			var devices []device
			for _, d := range got.Devices {
				devices = append(devices, device{d.Layout.Name(), d.Free, d.Tier, d.Busy})
			}
			if diff := cmp.Diff(test.want, devices); diff != "" {
				t.Errorf("devices (-want +got):\n%s", diff)
			}
			if got.CPUMilli != test.cpu || got.MemoryMiB != test.mib || got.Product != "NVIDIA-L4" {
				t.Errorf("%+v, want %d thousandths of CPU and %d MiB", got, test.cpu, test.mib)
			}
		})
	}
}
