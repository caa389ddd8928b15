package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	telemetryv1alpha1 "wastenot.dev/api/telemetry/v1alpha1"
)

// silenceLimit is how long a stream may be silent before it counts as broken.
// Telemetry sends a heartbeat each second.
const silenceLimit = 5 * time.Second

// maxBackoff is the longest wait before telemetry is asked again.
const maxBackoff = 5 * time.Second

// errResync says that a message was missed and the stream must start over.
var errResync = errors.New("the stream skipped a message")

// Dialer opens one Watch stream. The returned close function ends what the dial
// opened.
type Dialer func(ctx context.Context) (stream telemetryv1alpha1.Fleet_WatchClient, close func(), err error)

// Change is one step from a snapshot to the next.
type Change struct {
	Old, New *Snapshot
	// Nodes names what differs. After a fresh snapshot it names every node of both.
	Nodes []string
	// MixChanged tells that the mix is not what it was. Where it is, old and new share it.
	MixChanged bool
}

// Client keeps a current snapshot of the fleet. Its readers never wait.
type Client struct {
	dial     Dialer
	clock    clock.WithTicker
	onChange []func(Change)

	snapshot atomic.Pointer[Snapshot]
	// heardAt is when telemetry last said anything, in Unix nanoseconds; 0 is never.
	heardAt atomic.Int64
	resyncs atomic.Uint64
}

// NewClient returns a client that does nothing until Run.
func NewClient(dial Dialer, clk clock.WithTicker) *Client {
	c := &Client{dial: dial, clock: clk}
	c.snapshot.Store(Empty)
	return c
}

// OnChange has call run after each new snapshot, on the client's own goroutine.
// It must be called before Run.
func (c *Client) OnChange(call func(Change)) { c.onChange = append(c.onChange, call) }

// Snapshot returns the last snapshot; it is Empty before the first.
func (c *Client) Snapshot() *Snapshot { return c.snapshot.Load() }

// Resyncs counts how often a missed message made the client start over.
func (c *Client) Resyncs() uint64 { return c.resyncs.Load() }

// Silence returns for how long telemetry has said nothing, and false when it has
// never said anything.
func (c *Client) Silence(now time.Time) (time.Duration, bool) {
	heard := c.heardAt.Load()
	if heard == 0 {
		return 0, false
	}
	return now.Sub(time.Unix(0, heard)), true
}

// Run watches until ctx ends, connecting again with back-off whenever the stream
// breaks. The last snapshot stays while telemetry is away.
func (c *Client) Run(ctx context.Context) {
	logger := klog.FromContext(ctx).WithName("fleet")
	backoff := newBackoff()
	for ctx.Err() == nil {
		began := c.clock.Now()
		err := c.watchOnce(ctx)
		if ctx.Err() != nil {
			return
		}
		// A stream that breaks at once must not be opened ten times a second.
		if c.clock.Since(began) > maxBackoff {
			backoff = newBackoff()
		}
		if errors.Is(err, errResync) {
			c.resyncs.Add(1)
		}
		delay := backoff.Step()
		logger.V(2).Info("Fleet watch ended, connecting again", "reason", err.Error(), "delay", delay)
		select {
		case <-ctx.Done():
		case <-c.clock.After(delay):
		}
	}
}

func newBackoff() wait.Backoff {
	return wait.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 8, Cap: maxBackoff}
}

// watchOnce follows one stream to its end. It always returns an error.
func (c *Client) watchOnce(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	alive := make(chan struct{}, 1)
	var watchdog sync.WaitGroup
	watchdog.Go(func() { c.watchSilence(ctx, cancel, alive) })
	defer watchdog.Wait()
	defer cancel(nil)

	stream, closeStream, err := c.dial(ctx)
	if err != nil {
		return fmt.Errorf("connecting: %w", cmp.Or(context.Cause(ctx), err))
	}
	defer closeStream()
	var last telemetryv1alpha1.WatchEvent
	for {
		event, err := stream.Recv()
		if err != nil {
			if cause := context.Cause(ctx); cause != nil {
				return cause
			}
			if errors.Is(err, io.EOF) {
				return errors.New("telemetry closed the stream")
			}
			return err
		}
		if err := c.apply(&last, event); err != nil {
			return err
		}
		last.Epoch, last.Sequence = event.GetEpoch(), event.GetSequence()
		select {
		case alive <- struct{}{}:
		default:
		}
	}
}

// watchSilence cancels the stream when nothing arrives for silenceLimit, also while it
// is being opened.
func (c *Client) watchSilence(ctx context.Context, cancel context.CancelCauseFunc, alive <-chan struct{}) {
	timer := c.clock.NewTimer(silenceLimit)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-alive:
			timer.Reset(silenceLimit)
		case <-timer.C():
			cancel(fmt.Errorf("no message for %s", silenceLimit))
			return
		}
	}
}

// apply checks that event follows last and publishes what it says.
func (c *Client) apply(last, event *telemetryv1alpha1.WatchEvent) error {
	first := last.GetSequence() == 0
	if event.GetSequence() != last.GetSequence()+1 || (!first && event.GetEpoch() != last.GetEpoch()) {
		return errResync
	}
	if first && event.GetSnapshot() == nil {
		return errResync
	}
	change := Change{Old: c.snapshot.Load()}
	switch what := event.GetEvent().(type) {
	case *telemetryv1alpha1.WatchEvent_Snapshot:
		change.New = fromSnapshot(event.GetEpoch(), what.Snapshot)
		change.Nodes = allNodes(change.Old, change.New)
		change.takeMix(what.Snapshot.GetMix())
	case *telemetryv1alpha1.WatchEvent_Delta:
		change.New, change.Nodes = withDelta(change.Old, what.Delta)
		if mix := what.Delta.GetMix(); mix != nil {
			change.takeMix(mix)
		}
	case *telemetryv1alpha1.WatchEvent_Heartbeat:
		if what.Heartbeat.GetGeneration() != change.Old.Generation {
			return errResync
		}
	}
	c.publish(change)
	return nil
}

// takeMix sets what was received as the mix of the new snapshot, which nobody has seen
// yet.
func (c *Change) takeMix(received *telemetryv1alpha1.Mix) {
	mix := MixFromWire(received)
	if mix.Equal(c.Old.Mix) {
		c.New.Mix = c.Old.Mix
		return
	}
	c.New.Mix, c.MixChanged = mix, true
}

// publish notes that telemetry was heard, before the callbacks run: they may read
// Silence. A change without a new snapshot is only that.
func (c *Client) publish(change Change) {
	if change.New != nil {
		c.snapshot.Store(change.New)
	}
	c.heardAt.Store(c.clock.Now().UnixNano())
	if change.New == nil {
		return
	}
	for _, call := range c.onChange {
		call(change)
	}
}

func fromSnapshot(epoch string, in *telemetryv1alpha1.Snapshot) *Snapshot {
	out := &Snapshot{Epoch: epoch, Generation: in.GetGeneration(), Nodes: make(map[string]*Node, len(in.GetNodes()))}
	for _, node := range in.GetNodes() {
		out.Nodes[node.GetName()] = FromWire(node)
	}
	return out
}

// withDelta copies the map of nodes and replaces what changed; the nodes themselves and
// the mix are shared with the old snapshot.
func withDelta(old *Snapshot, delta *telemetryv1alpha1.Delta) (*Snapshot, []string) {
	next := &Snapshot{
		Epoch: old.Epoch, Generation: delta.GetGeneration(), Mix: old.Mix,
		Nodes: make(map[string]*Node, len(old.Nodes)+len(delta.GetChanged())),
	}
	for name, node := range old.Nodes {
		next.Nodes[name] = node
	}
	var changed []string
	for _, node := range delta.GetChanged() {
		next.Nodes[node.GetName()] = FromWire(node)
		changed = append(changed, node.GetName())
	}
	for _, name := range delta.GetRemoved() {
		delete(next.Nodes, name)
		changed = append(changed, name)
	}
	return next, changed
}

func allNodes(old, next *Snapshot) []string {
	var names []string
	for name := range next.Nodes {
		names = append(names, name)
	}
	for name := range old.Nodes {
		if _, ok := next.Nodes[name]; !ok {
			names = append(names, name)
		}
	}
	return names
}
