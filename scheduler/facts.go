package scheduler

import (
	"context"
	"sync"
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
	// lifts grows whenever a node may have opened to a pod that was turned away.
	lifts  atomic.Uint64
	parked *parked
	book   *book
	roster *roster
	// widened are the pods for which the short list was too short once.
	widened *parked
	// activate and gone are the scheduling queue and the pods as the API server has
	// them; nil where there are none.
	activate func(klog.Logger, map[string]*corev1.Pod)
	gone     func(*corev1.Pod) bool
	recorder events.EventRecorderLogger

	run     []func(context.Context)
	stop    context.CancelFunc
	running sync.WaitGroup
}

// newFacts wires the sources; watch is nil when no telemetry is configured. Nothing
// runs until start.
func newFacts(watch *fleet.Client, quarantines *quarantine.Informer, staleAfter time.Duration, clk clock.PassiveClock) *facts {
	f := &facts{fleet: noTelemetry{}, quarantines: quarantines, staleAfter: staleAfter, clock: clk, parked: newParked(), book: newBook(), roster: newRoster(), widened: newParked()}
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

// start runs what keeps the facts current until ctx ends or close is called.
func (f *facts) start(ctx context.Context) {
	ctx, f.stop = context.WithCancel(ctx)
	for _, run := range f.run {
		f.running.Go(func() { run(ctx) })
	}
}

// close ends what start began and waits for it.
func (f *facts) close() {
	f.stop()
	f.running.Wait()
}

// stale tells whether telemetry has been silent for too long to be believed.
func (f *facts) stale() bool {
	silence, heard := f.fleet.Silence(f.clock.Now())
	return !heard || silence > f.staleAfter
}

// fleetChanged wakes parked pods when a node that may have turned them away is not
// what it was.
func (f *facts) fleetChanged(change fleet.Change) {
	f.roster.touch(change.Nodes...)
	opened, different := false, false
	for _, name := range change.Nodes {
		old, current := change.Old.Node(name), change.New.Node(name)
		different = different || nodesDiffer(old, current, sameVerdict)
		opened = opened || (f.mayHaveTurnedAway(name, old) && nodesDiffer(old, current, sameForFilter))
	}
	if different {
		f.verdicts.Add(1)
	}
	if opened {
		f.wakeParked("a device recovered or changed")
	}
}

// quarantinesChanged wakes parked pods when a quarantine ended, and after the first
// list, until which every accelerator pod is parked.
func (f *facts) quarantinesChanged(old, current *quarantine.Set) {
	f.verdicts.Add(1)
	f.roster.touch(old.Nodes()...)
	f.roster.touch(current.Nodes()...)
	if old.Version() == 0 || quarantine.Lifted(old, current) {
		f.wakeParked("a quarantine ended")
	}
}

// park keeps a pod that was turned away for a retry; lifts is the count that went
// with the facts behind the refusal. What was lifted since then has woken the others
// already, so the pod is woken alone; the queue remembers that for a pod whose cycle
// is not over. A pod that is gone would never be taken out again.
func (f *facts) park(pod *corev1.Pod, lifts uint64) {
	f.parked.add(pod)
	if f.gone != nil && f.gone(pod) {
		f.parked.remove(pod.UID)
		return
	}
	if f.lifts.Load() != lifts {
		f.wake("something was lifted during the cycle", map[string]*corev1.Pod{string(pod.UID): pod})
	}
}

// wakeParked counts the lift before it looks who is parked: park does it the other
// way round, so that between them no pod is missed.
func (f *facts) wakeParked(why string) {
	f.lifts.Add(1)
	f.wake(why, f.parked.all())
}

func (f *facts) wake(why string, pods map[string]*corev1.Pod) {
	if len(pods) == 0 || f.activate == nil {
		return
	}
	logger := klog.Background().WithName("accelerators")
	logger.V(2).Info("Retrying parked pods", "why", why, "count", len(pods))
	f.activate(logger, pods)
}

// mayHaveTurnedAway tells whether the filter could have refused the node.
func (f *facts) mayHaveTurnedAway(name string, node *fleet.Node) bool {
	return (node != nil && node.Failed > 0) || len(f.quarantines.Current().OnNode(name)) > 0
}

// noTelemetry stands in where none is configured: nothing is known.
type noTelemetry struct{}

func (noTelemetry) Snapshot() *fleet.Snapshot               { return fleet.Empty }
func (noTelemetry) Silence(time.Time) (time.Duration, bool) { return 0, false }
