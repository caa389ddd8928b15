package scheduler

import (
	"context"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"wastenot.dev/internal/fleet"
	"wastenot.dev/internal/quarantine"
)

// fleetSource is the view of telemetry that decisions read.
type fleetSource interface {
	Snapshot() *fleet.Snapshot
	Silence(now time.Time) (time.Duration, bool)
}

// quarantineSource is the view of quarantines that decisions read.
type quarantineSource interface {
	Current() *quarantine.Set
	Synced() bool
}

// facts is what every profile of the process knows, and who waits for it to change.
type facts struct {
	fleet       fleetSource
	quarantines quarantineSource
	staleAfter  time.Duration
	clock       clock.PassiveClock

	// verdicts grows whenever a grade changes anywhere: what was decided before may
	// not be reused after.
	verdicts atomic.Uint64
	parked   *parked
	book     *book
	activate func(klog.Logger, map[string]*corev1.Pod)
	recorder events.EventRecorderLogger

	run []func(context.Context)
}

// newFacts wires the sources; watch is nil when no telemetry is configured. Nothing
// runs until start.
func newFacts(watch *fleet.Client, quarantines *quarantine.Informer, staleAfter time.Duration, clk clock.PassiveClock) *facts {
	f := &facts{fleet: noTelemetry{}, quarantines: quarantines, staleAfter: staleAfter, clock: clk, parked: newParked(), book: newBook()}
	if watch != nil {
		f.fleet = watch
		watch.OnChange(f.fleetChanged)
		f.run = append(f.run, watch.Run)
	}
	quarantines.OnChange(f.quarantinesChanged)
	f.run = append(f.run, func(ctx context.Context) {
		if err := quarantines.Run(ctx); err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "Watching quarantines")
		}
	})
	return f
}

// start runs what keeps the facts current until ctx ends. kube-scheduler owns the
// plugin's life and has no hook to wait for it, so the process's end is the end.
func (f *facts) start(ctx context.Context) {
	for _, run := range f.run {
		go run(ctx)
	}
}

// stale tells whether telemetry has been silent for too long to be believed.
func (f *facts) stale() bool {
	silence, heard := f.fleet.Silence(f.clock.Now())
	return !heard || silence > f.staleAfter
}

// fleetChanged wakes parked pods when a device stopped being Failed.
func (f *facts) fleetChanged(change fleet.Change) {
	better, different := false, false
	for _, name := range change.Nodes {
		old, current := change.Old.Node(name), change.New.Node(name)
		if sameGrades(old, current) {
			continue
		}
		different = true
		better = better || recovered(old, current)
	}
	if different {
		f.verdicts.Add(1)
	}
	if better {
		f.wakeParked("a device recovered")
	}
}

// quarantinesChanged wakes parked pods when a quarantine ended, and after the first
// list, until which every accelerator pod is parked.
func (f *facts) quarantinesChanged(old, current *quarantine.Set) {
	f.verdicts.Add(1)
	if old.Version() == 0 || quarantine.Lifted(old, current) {
		f.wakeParked("a quarantine ended")
	}
}

func (f *facts) wakeParked(why string) {
	pods := f.parked.all()
	if len(pods) == 0 || f.activate == nil {
		return
	}
	logger := klog.Background().WithName("accelerators")
	logger.V(2).Info("Retrying parked pods", "why", why, "count", len(pods))
	f.activate(logger, pods)
}

func sameGrades(old, current *fleet.Node) bool {
	if (old == nil) != (current == nil) {
		return false
	}
	if old == nil {
		return true
	}
	if len(old.Devices) != len(current.Devices) {
		return false
	}
	for i := range current.Devices {
		before := old.Device(current.Devices[i].UUID)
		if before == nil || before.Grade != current.Devices[i].Grade || before.VendorExcludes != current.Devices[i].VendorExcludes {
			return false
		}
	}
	return true
}

// recovered tells whether the change may open the node to a pod that it refused.
func recovered(old, current *fleet.Node) bool {
	if old == nil {
		return false
	}
	for i := range old.Devices {
		before := &old.Devices[i]
		after := current.Device(before.UUID)
		if after == nil || before.Grade.Severity() > after.Grade.Severity() || before.VendorExcludes != after.VendorExcludes {
			return true
		}
	}
	return false
}

// noTelemetry stands in where none is configured: nothing is known.
type noTelemetry struct{}

func (noTelemetry) Snapshot() *fleet.Snapshot               { return fleet.Empty }
func (noTelemetry) Silence(time.Time) (time.Duration, bool) { return 0, false }
