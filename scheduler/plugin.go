package scheduler

import (
	"context"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/clock"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/internal/fleet"
	"wastenot.dev/internal/quarantine"
)

// Name is the plugin's name in a scheduler configuration.
const Name = "Accelerators"

// Plugin keeps accelerator pods off unfit devices and packs slices.
type Plugin struct {
	facts *facts
	nodes nodeReader
	// waiting tells whether a Permit plugin holds the pod back.
	waiting func(*corev1.Pod) bool
	// byClaim tells whether a DeviceClass serves the extended resource, so that nodes
	// need not have it in their capacity; nil means never.
	byClaim func(corev1.ResourceName) bool
	// packs tells whether the plugin chooses among the nodes that may be used.
	packs bool
}

var (
	_ fwk.PreFilterPlugin   = &Plugin{}
	_ fwk.FilterPlugin      = &Plugin{}
	_ fwk.PostFilterPlugin  = &Plugin{}
	_ fwk.PreScorePlugin    = &Plugin{}
	_ fwk.ScorePlugin       = &Plugin{}
	_ fwk.ReservePlugin     = &Plugin{}
	_ fwk.PreBindPlugin     = &Plugin{}
	_ fwk.SignPlugin        = &Plugin{}
	_ fwk.EnqueueExtensions = &Plugin{}
	_ io.Closer             = &Plugin{}
)

// Name returns the plugin's name.
func (*Plugin) Name() string { return Name }

// Close ends what keeps the facts current and waits for it. kube-scheduler closes the
// plugins of all profiles when it ends.
func (p *Plugin) Close() error {
	p.facts.close()
	return nil
}

// Factory makes the plugin for each profile that enables it. The profiles of one
// process share one view of the fleet, so they must be given equal args but for Packing.
type Factory struct {
	shared *facts
	args   v1alpha1.AcceleratorsArgs
}

// New builds the plugin; it has the signature that kube-scheduler expects. It starts
// what keeps the facts current; that ends with ctx or with Close.
func (f *Factory) New(ctx context.Context, object runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
	args, err := decodeArgs(object)
	if err != nil {
		return nil, err
	}
	packs := args.Packing == nil || *args.Packing
	args.Packing = nil
	if f.shared != nil && !apiequality.Semantic.DeepEqual(f.args, args) {
		return nil, fmt.Errorf("plugin %s is configured differently in two profiles: give both the same args but for packing", Name)
	}
	if f.shared == nil {
		shared, err := newShared(ctx, args, handle)
		if err != nil {
			return nil, err
		}
		f.shared, f.args = shared, args
	}
	return &Plugin{
		facts:   f.shared,
		nodes:   listerNodes{handle.SharedInformerFactory().Core().V1().Nodes().Lister()},
		waiting: func(pod *corev1.Pod) bool { return handle.GetWaitingPod(pod.UID) != nil },
		byClaim: claimedBy(handle),
		packs:   packs,
	}, nil
}

// claimedBy asks the scheduler's own view of DeviceClasses; there is none where DRA is
// off.
func claimedBy(handle fwk.Handle) func(corev1.ResourceName) bool {
	devices := handle.SharedDRAManager()
	if devices == nil {
		return nil
	}
	return func(name corev1.ResourceName) bool { return devices.DeviceClassResolver().GetDeviceClass(name) != nil }
}

// newShared makes the facts that all profiles share, and starts them.
func newShared(ctx context.Context, args v1alpha1.AcceleratorsArgs, handle fwk.Handle) (*facts, error) {
	client, err := dynamic.NewForConfig(handle.KubeConfig())
	if err != nil {
		return nil, fmt.Errorf("building a client for quarantines: %w", err)
	}
	var watch *fleet.Client
	if args.Telemetry.Address == "" {
		klog.FromContext(ctx).Info("No telemetry.address is configured, so every device scores as Unknown and only quarantines keep pods away; if it should be, look for the plugin's name in pluginConfig", "plugin", Name)
	} else {
		watch = fleet.NewClient(fleet.NewDialer(args.Telemetry, "scheduler"), clock.RealClock{})
	}
	facts := newFacts(watch, quarantine.NewInformer(client), args.Telemetry.StaleAfter.Duration, clock.RealClock{})
	facts.activate = handle.Activate
	facts.recorder = handle.EventRecorder()
	pods := handle.SharedInformerFactory().Core().V1().Pods()
	facts.gone = goneFrom(pods.Lister())
	if err := facts.watchPods(ctx, pods.Informer()); err != nil {
		return nil, err
	}
	registerMetrics(facts)
	facts.start(ctx)
	return facts, nil
}
