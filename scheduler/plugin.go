package scheduler

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/clock"

	"wastenot.dev/internal/fleet"
	"wastenot.dev/internal/quarantine"
)

// Name is the plugin's name in a scheduler configuration.
const Name = "Accelerators"

// Plugin keeps accelerator pods off unfit devices and packs slices.
type Plugin struct {
	facts *facts
	nodes nodeReader
}

var (
	_ fwk.PreFilterPlugin   = &Plugin{}
	_ fwk.FilterPlugin      = &Plugin{}
	_ fwk.PreScorePlugin    = &Plugin{}
	_ fwk.ScorePlugin       = &Plugin{}
	_ fwk.ReservePlugin     = &Plugin{}
	_ fwk.PreBindPlugin     = &Plugin{}
	_ fwk.SignPlugin        = &Plugin{}
	_ fwk.EnqueueExtensions = &Plugin{}
)

// Name returns the plugin's name.
func (*Plugin) Name() string { return Name }

// Factory makes the plugin for each profile that enables it. The profiles of one
// process share one view of the fleet, so they must be given equal args.
type Factory struct {
	shared *facts
	args   string
}

// New builds the plugin; it has the signature that kube-scheduler expects. It starts
// what keeps the facts current; that ends with ctx.
func (f *Factory) New(ctx context.Context, object runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
	args, err := decodeArgs(object)
	if err != nil {
		return nil, err
	}
	fingerprint := fmt.Sprintf("%+v %s", args.Telemetry, args.Telemetry.StaleAfter.Duration)
	if f.shared != nil && f.args != fingerprint {
		return nil, fmt.Errorf("plugin %s is configured differently in two profiles: give both the same args", Name)
	}
	nodes := listerNodes{handle.SharedInformerFactory().Core().V1().Nodes().Lister()}
	if f.shared != nil {
		return &Plugin{facts: f.shared, nodes: nodes}, nil
	}

	client, err := dynamic.NewForConfig(handle.KubeConfig())
	if err != nil {
		return nil, fmt.Errorf("building a client for quarantines: %w", err)
	}
	var watch *fleet.Client
	if args.Telemetry.Address != "" {
		watch = fleet.NewClient(fleet.NewDialer(args.Telemetry, "scheduler"), clock.RealClock{})
	}
	facts := newFacts(watch, quarantine.NewInformer(client), args.Telemetry.StaleAfter.Duration, clock.RealClock{})
	facts.activate = handle.Activate
	facts.recorder = handle.EventRecorder()
	if err := facts.watchPods(ctx, handle.SharedInformerFactory().Core().V1().Pods().Informer()); err != nil {
		return nil, err
	}
	registerMetrics(facts)
	facts.start(ctx)
	f.shared, f.args = facts, fingerprint
	return &Plugin{facts: facts, nodes: nodes}, nil
}
