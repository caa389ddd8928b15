package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
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
		heardBefore := c.heardAt.Load()
		err := c.watchOnce(ctx)
		if ctx.Err() != nil {
			return
		}
		if c.heardAt.Load() != heardBefore {
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
	return wait.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 8, Cap: 5 * time.Second}
}

// watchOnce follows one stream to its end. It always returns an error.
func (c *Client) watchOnce(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stream, closeStream, err := c.dial(ctx)
	if err != nil {
		return fmt.Errorf("connecting: %w", err)
	}
	defer closeStream()

	watchdog := c.clock.NewTimer(silenceLimit)
	done := make(chan struct{})
	watching := make(chan struct{})
	defer func() { close(done); <-watching }()
	alive := make(chan struct{}, 1)
	go func() {
		defer close(watching)
		c.watchSilence(watchdog, alive, done, cancel)
	}()

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
		select {
		case alive <- struct{}{}:
		default:
		}
		if err := c.apply(&last, event); err != nil {
			return err
		}
		last.Epoch, last.Sequence = event.GetEpoch(), event.GetSequence()
	}
}

// watchSilence cancels the stream when nothing arrives for silenceLimit.
func (c *Client) watchSilence(timer clock.Timer, alive, done <-chan struct{}, cancel context.CancelCauseFunc) {
	defer timer.Stop()
	for {
		select {
		case <-done:
			return
		case <-alive:
			timer.Stop()
			timer = c.clock.NewTimer(silenceLimit)
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
	current := c.snapshot.Load()
	switch what := event.GetEvent().(type) {
	case *telemetryv1alpha1.WatchEvent_Snapshot:
		next := fromSnapshot(event.GetEpoch(), what.Snapshot)
		c.publish(Change{Old: current, New: next, Nodes: allNodes(current, next)})
	case *telemetryv1alpha1.WatchEvent_Delta:
		if first {
			return errResync
		}
		next, changed := withDelta(current, what.Delta)
		c.publish(Change{Old: current, New: next, Nodes: changed})
	case *telemetryv1alpha1.WatchEvent_Heartbeat:
		if first || what.Heartbeat.GetGeneration() != current.Generation {
			return errResync
		}
	}
	c.heardAt.Store(c.clock.Now().UnixNano())
	return nil
}

func (c *Client) publish(change Change) {
	c.snapshot.Store(change.New)
	// Word from telemetry counts before the callbacks run: they may read Silence.
	c.heardAt.Store(c.clock.Now().UnixNano())
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

// withDelta copies the map of nodes and replaces what changed; the nodes
// themselves are shared with the old snapshot.
func withDelta(old *Snapshot, delta *telemetryv1alpha1.Delta) (*Snapshot, []string) {
	next := &Snapshot{Epoch: old.Epoch, Generation: delta.GetGeneration(), Nodes: make(map[string]*Node, len(old.Nodes)+len(delta.GetChanged()))}
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
