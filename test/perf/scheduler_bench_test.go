package perf

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/noderesources"
	"sigs.k8s.io/yaml"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/internal/fleet"
	"wastenot.dev/scheduler"
)

const (
	nodeCount      = 1000
	devicesPerNode = 8
	gpu            = "nvidia.com/gpu"
)

// filterScorer is what both plugins do for a pod.
type filterScorer interface {
	fwk.PreFilterPlugin
	fwk.FilterPlugin
	fwk.PreScorePlugin
	fwk.ScorePlugin
}

// BenchmarkFilterAndScore judges 1,000 nodes with 8 devices each for one pod, from a
// snapshot that is there, with our plugin as its Factory builds it and with the stock
// plugin that packs whole devices.
func BenchmarkFilterAndScore(b *testing.B) {
	for _, fleetCase := range []struct {
		name string
		// every so many nodes one device has Failed; 0 is none.
		every int
	}{{name: "clean"}, {name: "1%failed", every: 100}} {
		for _, plugin := range []struct {
			name string
			make func(b *testing.B, every int) filterScorer
		}{{"wastenot", ours}, {"NodeResourcesFit", stock}} {
			b.Run(fleetCase.name+"/"+plugin.name, func(b *testing.B) {
				measure(b, plugin.make(b, fleetCase.every))
			})
		}
	}
}

func measure(b *testing.B, plugin filterScorer) {
	nodes, pod := nodeInfos(), gpuPod()
	ctx, cycle := b.Context(), framework.NewCycleState()
	if _, status := plugin.PreFilter(ctx, cycle, pod, nodes); !status.IsSuccess() {
		b.Fatal(status)
	}
	if status := plugin.PreScore(ctx, cycle, pod, nodes); !status.IsSuccess() {
		b.Fatal(status)
	}
	passed := make([]fwk.NodeInfo, 0, len(nodes))
	filter := func() {
		passed = passed[:0]
		for _, node := range nodes {
			if plugin.Filter(ctx, cycle, pod, node).IsSuccess() {
				passed = append(passed, node)
			}
		}
	}
	score := func() {
		for _, node := range passed {
			if _, status := plugin.Score(ctx, cycle, pod, node); !status.IsSuccess() {
				b.Fatal(status)
			}
		}
	}
	filterAllocations, scoreAllocations := testing.AllocsPerRun(10, filter), testing.AllocsPerRun(10, score)
	var filtering, scoring time.Duration
	for b.Loop() {
		began := time.Now()
		filter()
		half := time.Now()
		score()
		filtering += half.Sub(began)
		scoring += time.Since(half)
	}
	perNode := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / float64(b.N*nodeCount) }
	b.ReportMetric(0, "ns/op") // The metrics below say it per node.
	b.ReportMetric(perNode(filtering+scoring), "ns/node")
	b.ReportMetric(perNode(filtering), "filter-ns/node")
	b.ReportMetric(perNode(scoring), "score-ns/node")
	b.ReportMetric(filterAllocations/nodeCount, "filter-allocs/node")
	b.ReportMetric(scoreAllocations/nodeCount, "score-allocs/node")
	b.ReportMetric(float64(len(passed)), "nodes-passed")
}

// ours is the plugin as kube-scheduler would have it, once it knows the fleet.
func ours(b *testing.B, every int) filterScorer {
	b.Helper()
	nodes, quarantines := fleetNodes(every)
	text, err := yaml.Marshal(v1alpha1.AcceleratorsArgs{Telemetry: serveTelemetry(b, nodes)})
	if err != nil {
		b.Fatal(err)
	}
	handle := &handle{
		config:  &rest.Config{Host: serveQuarantines(b, quarantines)},
		factory: informers.NewSharedInformerFactory(fake.NewClientset(), 0),
	}
	built, err := (&scheduler.Factory{}).New(b.Context(), &runtime.Unknown{Raw: text}, handle)
	if err != nil {
		b.Fatal(err)
	}
	plugin := built.(*scheduler.Plugin)
	b.Cleanup(func() { _ = plugin.Close() })
	if err := wait.PollUntilContextTimeout(b.Context(), 10*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		return warm(ctx, plugin), nil
	}); err != nil {
		b.Fatalf("waiting for the plugin to know the fleet: %v", err)
	}
	return plugin
}

// warm tells whether the plugin has read the quarantines and the fleet: it prefers a
// node that it knows to be healthy to one that it does not know.
func warm(ctx context.Context, plugin *scheduler.Plugin) bool {
	nodes, cycle := nodeInfos(), framework.NewCycleState()
	if _, status := plugin.PreFilter(ctx, cycle, gpuPod(), nodes); !status.IsSuccess() {
		return false
	}
	stranger := framework.NewNodeInfo()
	node := nodes[1].Node().DeepCopy()
	node.Name = "stranger"
	stranger.SetNode(node)
	known, _ := plugin.Score(ctx, cycle, gpuPod(), nodes[1])
	unknown, _ := plugin.Score(ctx, cycle, gpuPod(), stranger)
	return known > unknown
}

func stock(b *testing.B, _ int) filterScorer {
	b.Helper()
	args := &config.NodeResourcesFitArgs{ScoringStrategy: &config.ScoringStrategy{
		Type: config.MostAllocated, Resources: []config.ResourceSpec{{Name: gpu, Weight: 1}},
	}}
	plugin, err := noderesources.NewFit(b.Context(), args, nil, feature.Features{})
	if err != nil {
		b.Fatal(err)
	}
	return plugin.(*noderesources.Fit)
}

// handle is what our plugin uses of kube-scheduler.
type handle struct {
	fwk.Handle

	config  *rest.Config
	factory informers.SharedInformerFactory
}

// KubeConfig points to an API server that serves quarantines.
func (h *handle) KubeConfig() *rest.Config { return h.config }

// SharedInformerFactory has no objects.
func (h *handle) SharedInformerFactory() informers.SharedInformerFactory { return h.factory }

// SharedDRAManager tells that DRA is off.
func (h *handle) SharedDRAManager() fwk.SharedDRAManager { return nil }

// EventRecorder keeps a few.
func (h *handle) EventRecorder() events.EventRecorderLogger { return events.NewFakeRecorder(10) }

// Activate does nothing: there is no queue.
func (h *handle) Activate(klog.Logger, map[string]*corev1.Pod) {}

// GetWaitingPod knows none.
func (h *handle) GetWaitingPod(types.UID) fwk.WaitingPod { return nil }

func nodeName(i int) string { return fmt.Sprintf("node-%04d", i) }

// nodeInfos are the nodes in a scheduling cycle, with as many resources as a GPU node
// of a cloud has and up to seven of the eight devices in use.
func nodeInfos() []fwk.NodeInfo {
	infos := make([]fwk.NodeInfo, nodeCount)
	for i := range infos {
		list := corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("192"), corev1.ResourceMemory: resource.MustParse("2Ti"),
			corev1.ResourceEphemeralStorage: resource.MustParse("1Ti"), corev1.ResourcePods: resource.MustParse("110"),
			"hugepages-1Gi": resource.MustParse("0"), "hugepages-2Mi": resource.MustParse("0"),
			"vpc.amazonaws.com/efa": resource.MustParse("32"), gpu: resource.MustParse(fmt.Sprint(devicesPerNode)),
		}
		info := framework.NewNodeInfo()
		info.SetNode(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName(i)}, Status: corev1.NodeStatus{Capacity: list, Allocatable: list.DeepCopy()}})
		for range i % devicesPerNode {
			pod, err := framework.NewPodInfo(gpuPod())
			if err != nil {
				panic(err)
			}
			info.AddPodInfo(pod)
		}
		infos[i] = info
	}
	return infos
}

func gpuPod() *corev1.Pod {
	requests := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("64Gi"), gpu: resource.MustParse("1")}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "pod", Namespace: "team", UID: "pod"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{Requests: requests, Limits: requests}}}},
	}
}

// fleetNodes are the same nodes as telemetry has them, and the quarantines of those
// devices that have Failed.
func fleetNodes(every int) ([]*fleet.Node, []v1alpha1.Quarantine) {
	nodes := make([]*fleet.Node, nodeCount)
	var quarantines []v1alpha1.Quarantine
	for i := range nodes {
		nodes[i] = &fleet.Node{Name: nodeName(i)}
		for j := range devicesPerNode {
			d := fleet.Device{UUID: fmt.Sprintf("GPU-%04d-%d", i, j), Index: fmt.Sprint(j), Vendor: "nvidia", Grade: v1alpha1.GradeHealthy}
			if every > 0 && i%every == 0 && j == 3 {
				d.Grade, d.Reasons = v1alpha1.GradeFailed, []fleet.Reason{{Code: "XID79", Grade: v1alpha1.GradeFailed}}
				quarantines = append(quarantines, v1alpha1.Quarantine{
					ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("gpu-%04d-%d", i, j)},
					Spec:       v1alpha1.QuarantineSpec{Node: nodeName(i), UUID: d.UUID, Reason: "XID79", Action: v1alpha1.ActionReplaceDevice},
				})
			}
			nodes[i].Devices = append(nodes[i].Devices, d)
		}
	}
	return nodes, quarantines
}
