package scheduler

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"

	"wastenot.dev/internal/fleet"
	"wastenot.dev/placement/podrequest"
)

// eightOf is a node with 8 GPUs.
func eightOf(name string, changes ...func(*corev1.Node)) *corev1.Node {
	node := nodeOf(name, map[corev1.ResourceName]int64{gpu: 8, "cpu": 64, "memory": 1 << 36, "pods": 110})
	for _, change := range changes {
		change(node)
	}
	return node
}

// podWith is a pod with 1 GPU, changed.
func podWith(changes ...func(*corev1.Pod)) *corev1.Pod {
	pod := gpuPod("p")
	for _, change := range changes {
		change(pod)
	}
	return pod
}

// shortlist runs PreFilter and returns the names that are left, nil for all.
func (b *bench) shortlist(t *testing.T, pod *corev1.Pod, infos []fwk.NodeInfo) ([]string, *fakeCycle) {
	t.Helper()
	cycle := &fakeCycle{}
	result, status := b.PreFilter(t.Context(), cycle, pod, infos)
	if !status.IsSuccess() {
		t.Fatalf("PreFilter: %v", status)
	}
	if result.AllNodes() {
		return nil, cycle
	}
	return sets.List(result.NodeNames), cycle
}

func tainted(effect corev1.TaintEffect) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Spec.Taints = []corev1.Taint{{Key: "k", Value: "v", Effect: effect}}
	}
}

func labelled(n *corev1.Node) { n.Labels = map[string]string{"zone": "z1"} }

func cordoned(n *corev1.Node) { n.Spec.Unschedulable = true }

// required has the pod demand that zone is z1.
func required(pod *corev1.Pod) {
	pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "zone", Operator: corev1.NodeSelectorOpIn, Values: []string{"z1"}}}}},
	}}}
}

func TestWhoIsOnTheShortList(t *testing.T) {
	t.Parallel()
	tolerant := func(pod *corev1.Pod) { pod.Spec.Tolerations = []corev1.Toleration{{Key: "k", Value: "v"}} }
	for name, test := range map[string]struct {
		a       *corev1.Node // Beside b, with which nothing is wrong but for what its label is not.
		info    fakeNodeInfo
		pod     *corev1.Pod
		prepare func(b *bench)
		want    []string
	}{
		"both":          {want: []string{"a", "b"}},
		"a is selected": {a: eightOf("a", labelled), pod: podWith(func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"zone": "z1"} }), want: []string{"a"}},
		"a is required": {a: eightOf("a", labelled), pod: podWith(required), want: []string{"a"}},
		"neither is":    {pod: podWith(required)},
		"nonsense is required": {pod: podWith(required, func(p *corev1.Pod) {
			p.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchExpressions[0].Operator = "Splendid"
		})},
		"a is tainted":                 {a: eightOf("a", tainted(corev1.TaintEffectNoSchedule)), want: []string{"b"}},
		"a drives pods away":           {a: eightOf("a", tainted(corev1.TaintEffectNoExecute)), want: []string{"b"}},
		"a is tainted a bit":           {a: eightOf("a", tainted(corev1.TaintEffectPreferNoSchedule)), want: []string{"a", "b"}},
		"the pod does not mind":        {a: eightOf("a", tainted(corev1.TaintEffectNoSchedule)), pod: podWith(tolerant), want: []string{"a", "b"}},
		"a is cordoned":                {a: eightOf("a", cordoned), want: []string{"b"}},
		"a has as many pods as it may": {info: fakeNodeInfo{pods: 110}, want: []string{"b"}},
		"a may have one more":          {info: fakeNodeInfo{pods: 109}, want: []string{"a", "b"}},
		"a has no GPU left":            {info: fakeNodeInfo{requested: map[corev1.ResourceName]int64{gpu: 8}}, want: []string{"b"}},
		"a has too little CPU":         {info: fakeNodeInfo{requested: map[corev1.ResourceName]int64{"cpu": 63}}, pod: podOf("p", map[corev1.ResourceName]int64{gpu: 1, "cpu": 2}), want: []string{"b"}},
		"a has just enough CPU":        {info: fakeNodeInfo{requested: map[corev1.ResourceName]int64{"cpu": 62}}, pod: podOf("p", map[corev1.ResourceName]int64{gpu: 1, "cpu": 2}), want: []string{"a", "b"}},
		"a has too little memory":      {info: fakeNodeInfo{requested: map[corev1.ResourceName]int64{"memory": 1<<36 - 1}}, pod: podOf("p", map[corev1.ResourceName]int64{gpu: 1, "memory": 2}), want: []string{"b"}},
		"too much is asked for":        {pod: podOf("p", map[corev1.ResourceName]int64{gpu: 9})},
		"on a a device has Failed":     {prepare: func(b *bench) { b.fleet.set(devicesOf("a", healthy, failed)) }, want: []string{"b"}},
		"on a one is quarantined":      {prepare: func(b *bench) { b.quarantines.put(quarantineOf("a", "GPU-a-0")) }, want: []string{"b"}},
		"on a one is suspect":          {prepare: func(b *bench) { b.fleet.set(devicesOf("a", suspect)) }, want: []string{"a", "b"}},
		"on both one has Failed":       {prepare: func(b *bench) { b.fleet.set(devicesOf("a", failed), devicesOf("b", failed)) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			if test.prepare != nil {
				test.prepare(b)
			}
			if test.pod == nil {
				test.pod = gpuPod("p")
			}
			test.info.node = test.a
			if test.a == nil {
				test.info.node = eightOf("a")
			}
			got, _ := b.shortlist(t, test.pod, []fwk.NodeInfo{&test.info, &fakeNodeInfo{node: eightOf("b")}})
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("nodes (-want +got):\n%s", diff)
			}
		})
	}
}

// TestPodsThatGetAllNodes: those of which the short list does not look at all wishes.
func TestPodsThatGetAllNodes(t *testing.T) {
	t.Parallel()
	volume := func(source corev1.VolumeSource) func(*corev1.Pod) {
		return func(pod *corev1.Pod) { pod.Spec.Volumes = []corev1.Volume{{VolumeSource: source}} }
	}
	port := []corev1.ContainerPort{{ContainerPort: 80}, {HostPort: 8080}}
	always := corev1.ContainerRestartPolicyAlways
	for name, test := range map[string]struct {
		change func(*corev1.Pod)
		want   bool
	}{
		"a plain pod": {change: func(*corev1.Pod) {}},
		"a wish that may wait": {change: func(p *corev1.Pod) {
			required(p)
			a := p.Spec.Affinity.NodeAffinity
			a.RequiredDuringSchedulingIgnoredDuringExecution = nil
		}},
		"a file":              {change: volume(corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{}})},
		"a port of its own":   {change: func(p *corev1.Pod) { p.Spec.Containers[0].Ports = port[:1] }},
		"a claim":             {change: func(p *corev1.Pod) { p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "nic"}} }, want: true},
		"a volume":            {change: volume(corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{}}), want: true},
		"a volume of its own": {change: volume(corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}), want: true},
		"a port of the host":  {change: func(p *corev1.Pod) { p.Spec.Containers[0].Ports = port }, want: true},
		"a sidecar's port":    {change: func(p *corev1.Pod) { p.Spec.InitContainers = []corev1.Container{{RestartPolicy: &always, Ports: port}} }, want: true},
		"to be spread": {change: func(p *corev1.Pod) {
			p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{TopologyKey: "zone"}}
		}, want: true},
		"near other pods":      {change: func(p *corev1.Pod) { p.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{}} }, want: true},
		"away from other pods": {change: func(p *corev1.Pod) { p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{}} }, want: true},
		"a node that waits":    {change: func(p *corev1.Pod) { p.Status.NominatedNodeName = "b" }, want: true},
		"a group":              {change: func(p *corev1.Pod) { p.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{} }, want: true},
		"two accelerators": {change: func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources.Requests[mig] = p.Spec.Containers[0].Resources.Requests[gpu]
		}, want: true},
		"products that are none": {change: func(p *corev1.Pod) {
			required(p)
			p.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchExpressions = nil
		}, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			both := eightOf("a")
			both.Status = nodeOf("a", map[corev1.ResourceName]int64{gpu: 8, mig: 8, "cpu": 8}).Status
			b := newBench(t)
			got, _ := b.shortlist(t, podWith(test.change), []fwk.NodeInfo{&fakeNodeInfo{node: both}, &fakeNodeInfo{node: eightOf("b")}})
			if (got == nil) != test.want {
				t.Errorf("nodes %v", got)
			}
		})
	}
}

// TestTheShortListIsShort, and has the best nodes: those that are in use already.
func TestTheShortListIsShort(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var infos []fwk.NodeInfo
	var want []string
	for i := range 3 * 32 {
		info := &fakeNodeInfo{node: eightOf(fmt.Sprintf("node-%03d", i))}
		if i%3 == 1 {
			info.requested = map[corev1.ResourceName]int64{gpu: 3}
			want = append(want, info.node.Name)
		}
		infos = append(infos, info)
	}
	got, _ := b.shortlist(t, gpuPod("p"), infos)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
}

// TestADeviceThatFailedIsSeenAtOnce: the cycle may know of it before the roster is touched.
func TestADeviceThatFailedIsSeenAtOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	infos := []fwk.NodeInfo{&fakeNodeInfo{node: eightOf("a")}, &fakeNodeInfo{node: eightOf("b")}}
	b.shortlist(t, gpuPod("p"), infos)
	b.fleet.set(devicesOf("a", failed))
	got, _ := b.shortlist(t, gpuPod("p"), infos)
	if diff := cmp.Diff([]string{"b"}, got); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
}

// TestScoresKeepTheOrderOfTheShortList, and tiers before it.
func TestScoresKeepTheOrderOfTheShortList(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var infos []fwk.NodeInfo
	var telemetry []*fleet.Node
	grades := []func(*fleet.Device){healthy, healthy, suspect, func(d *fleet.Device) { d.Grade = "Degraded" }, func(d *fleet.Device) { d.Grade = "Unknown" }}
	for i := range 25 {
		name := fmt.Sprintf("node-%02d", i)
		infos = append(infos, &fakeNodeInfo{node: eightOf(name), requested: map[corev1.ResourceName]int64{gpu: int64(i * 3 % 8), "cpu": int64(i * 5 % 60)}})
		telemetry = append(telemetry, devicesOf(name, grades[i%len(grades)]))
	}
	b.fleet.set(telemetry...)
	pod := gpuPod("p")
	names, cycle := b.shortlist(t, pod, infos)
	if len(names) != len(infos) {
		t.Fatalf("%d nodes on the list, want %d", len(names), len(infos))
	}
	s, err := readState(cycle)
	if err != nil {
		t.Fatal(err)
	}
	best := b.facts.roster.index.Best(&s.asked[0], len(infos), nil)
	var list fwk.NodeScoreList
	for i := range best {
		at := slices.IndexFunc(infos, func(info fwk.NodeInfo) bool { return info.Node().Name == best[i].Name })
		score, status := b.Score(t.Context(), cycle, pod, infos[at])
		if !status.IsSuccess() {
			t.Fatal(status)
		}
		list = append(list, fwk.NodeScore{Name: best[i].Name, Score: score})
	}
	if !slices.IsSortedFunc(list, func(a, b fwk.NodeScore) int { return max(-1, min(1, int(b.Score-a.Score))) }) {
		t.Errorf("scores are not in the order of the list: %v", list)
	}
	if status := b.ScoreExtensions().NormalizeScore(t.Context(), cycle, pod, list); !status.IsSuccess() {
		t.Fatal(status)
	}
	for i := range list {
		if i > 0 && list[i].Score > list[i-1].Score {
			t.Errorf("%v is worth more than %v before it", list[i], list[i-1])
		}
		// 90 and more is Healthy, then Unknown, Suspect and Degraded by 30 each.
		if got, want := 3-list[i].Score/30, int64(best[i].Tier); got != want && list[i].Score < 90 {
			t.Errorf("%v has tier %d, want %d", list[i], got, want)
		}
	}
}

// TestScoresOfAllNodesCountWhatIsLost: a node whose last CPUs the pod takes is worse than
// one that is less full, for the GPUs beside it are lost.
func TestScoresOfAllNodesCountWhatIsLost(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.fleet.snapshot = &fleet.Snapshot{Nodes: map[string]*fleet.Node{}, Mix: &fleet.Mix{Items: []fleet.MixItem{{Kind: gpu, Count: 1, Milli: 1000, CPUMilli: 7168, Weight: 1}}}}
	strands := &fakeNodeInfo{node: eightOf("strands"), requested: map[corev1.ResourceName]int64{gpu: 6, "cpu": 49}}
	roomy := &fakeNodeInfo{node: eightOf("roomy"), requested: map[corev1.ResourceName]int64{gpu: 4, "cpu": 8}}
	pod := podOf("p", map[corev1.ResourceName]int64{gpu: 1, "cpu": 14})
	pod.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 80}}
	names, cycle := b.shortlist(t, pod, []fwk.NodeInfo{strands, roomy})
	if names != nil {
		t.Fatalf("there is a list: %v", names)
	}
	bad, _ := b.Score(t.Context(), cycle, pod, strands)
	good, _ := b.Score(t.Context(), cycle, pod, roomy)
	if good <= bad {
		t.Errorf("the node that strands a GPU is worth %d, the other %d", bad, good)
	}
}

// TestASignatureDoesNotKnowTheShortList: pods of one batch need not come by one by one.
func TestASignatureDoesNotKnowTheShortList(t *testing.T) {
	t.Parallel()
	b := newBench(t, eightOf("a"))
	before, _ := b.SignPod(t.Context(), gpuPod("p"))
	b.shortlist(t, gpuPod("p"), b.nodeInfos())
	b.facts.widened.add(gpuPod("p"))
	after, _ := b.SignPod(t.Context(), gpuPod("p"))
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
	if len(b.facts.roster.seen) != 1 {
		t.Errorf("%d pods are seen", len(b.facts.roster.seen))
	}
}

// TestEveryRequestOfAPodCounts, once, however often it is tried.
func TestEveryRequestOfAPodCounts(t *testing.T) {
	t.Parallel()
	b := newBench(t, nodeOf("a", map[corev1.ResourceName]int64{gpu: 8, mig: 8}))
	b.begin(t, podOf("q", map[corev1.ResourceName]int64{gpu: 1}))
	for range 3 {
		b.begin(t, podOf("p", map[corev1.ResourceName]int64{gpu: 1, mig: 2}))
	}
	got := map[string]int64{}
	items := b.facts.roster.learner.Mix().Items
	for _, item := range items {
		got[fmt.Sprint(item.Count, " ", item.Kind)] = item.Weight / items[len(items)-1].Weight
	}
	if diff := cmp.Diff(map[string]int64{"1 " + gpu: 2, "2 " + mig: 1}, got); diff != "" {
		t.Errorf("counted (-want +got):\n%s", diff)
	}
}

// TestTheMixIsTelemetrysWhereItSaysOne, and before and after that what was seen here.
func TestTheMixIsTelemetrysWhereItSaysOne(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	infos := []fwk.NodeInfo{&fakeNodeInfo{node: eightOf("a"), requested: map[corev1.ResourceName]int64{gpu: 1}}}
	ask := podrequest.Of(gpuPod("p"))
	tell := func(mix *fleet.Mix) { b.fleet.snapshot = &fleet.Snapshot{Nodes: map[string]*fleet.Node{}, Mix: mix} }
	for i, step := range []struct {
		name string
		tell func()
		pods int
		want int64
	}{
		{"nothing is known yet", func() {}, 19, 0},
		{"enough was seen", func() {}, 1, 1000},
		{"telemetry expects other pods", func() { tell(&fleet.Mix{Items: []fleet.MixItem{{Kind: mig, Count: 1, Milli: 1000, Weight: 1}}}) }, 3, 0},
		{"telemetry expects such pods", func() { tell(&fleet.Mix{Items: []fleet.MixItem{{Kind: gpu, Count: 1, Milli: 1000, Weight: 1}}}) }, 1, 1000},
		{"telemetry has seen none", func() { tell(&fleet.Mix{}) }, 3, 0},
		{"telemetry does not say", func() { tell(nil) }, 1, 1000},
	} {
		step.tell()
		for pod := range step.pods {
			b.shortlist(t, gpuPod(fmt.Sprint(i, "-", pod)), infos)
		}
		if got := b.facts.roster.lost("a", ask); got != step.want {
			t.Errorf("%s: %d thousandths are lost, want %d", step.name, got, step.want)
		}
	}
}
