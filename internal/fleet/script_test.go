package fleet

import (
	"context"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	telemetryv1alpha1 "wastenot.dev/api/telemetry/v1alpha1"
)

// patience is how long a test waits for what must come; it bounds failures only.
const patience = 20 * time.Second

func await[T any](t *testing.T, what string, from <-chan T) T {
	t.Helper()
	select {
	case value := <-from:
		return value
	case <-time.After(patience):
		t.Fatalf("waited %s for %s", patience, what)
		panic("unreachable")
	}
}

// script is a telemetry that says what the test tells it to.
type script struct {
	telemetryv1alpha1.UnimplementedFleetServer

	connected chan *connection
}

// connection is one stream, seen from the server.
type connection struct {
	request *telemetryv1alpha1.WatchRequest
	send    chan *telemetryv1alpha1.WatchEvent
	hangUp  chan error
	left    <-chan struct{}
}

// Watch follows the script.
func (s *script) Watch(request *telemetryv1alpha1.WatchRequest, stream grpc.ServerStreamingServer[telemetryv1alpha1.WatchEvent]) error {
	c := &connection{request: request, send: make(chan *telemetryv1alpha1.WatchEvent), hangUp: make(chan error), left: stream.Context().Done()}
	s.connected <- c
	for {
		select {
		case event := <-c.send:
			if err := stream.Send(event); err != nil {
				return err
			}
		case err := <-c.hangUp:
			return err
		case <-c.left:
			return stream.Context().Err()
		}
	}
}

// serveScript serves on a pipe in memory and returns a dialer for it.
func serveScript(t *testing.T) (*script, Dialer) {
	t.Helper()
	s := &script{connected: make(chan *connection, 10)}
	listener := bufconn.Listen(1 << 20)
	server := grpc.NewServer()
	telemetryv1alpha1.RegisterFleetServer(server, s)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return s, func(ctx context.Context) (telemetryv1alpha1.Fleet_WatchClient, func(), error) {
		conn, err := grpc.NewClient("passthrough:pipe", grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
		if err != nil {
			return nil, nil, err
		}
		stream, err := telemetryv1alpha1.NewFleetClient(conn).Watch(ctx, &telemetryv1alpha1.WatchRequest{Client: "test"})
		return stream, func() { _ = conn.Close() }, err
	}
}

// talker numbers the messages of one connection as telemetry does.
type talker struct {
	*connection

	t        *testing.T
	epoch    string
	sequence uint64
}

func (k *talker) say(event *telemetryv1alpha1.WatchEvent) {
	k.t.Helper()
	k.sequence++
	event.Epoch, event.Sequence = k.epoch, k.sequence
	select {
	case k.send <- event:
	case <-time.After(patience):
		k.t.Fatal("the client does not listen")
	}
}

func (k *talker) snapshot(generation uint64, nodes ...*Node) {
	k.t.Helper()
	snapshot := &telemetryv1alpha1.Snapshot{Generation: generation}
	for _, node := range nodes {
		snapshot.Nodes = append(snapshot.Nodes, ToWire(node))
	}
	k.say(&telemetryv1alpha1.WatchEvent{Event: &telemetryv1alpha1.WatchEvent_Snapshot{Snapshot: snapshot}})
}

func (k *talker) delta(generation uint64, removed []string, changed ...*Node) {
	k.t.Helper()
	delta := &telemetryv1alpha1.Delta{Generation: generation, Removed: removed}
	for _, node := range changed {
		delta.Changed = append(delta.Changed, ToWire(node))
	}
	k.say(&telemetryv1alpha1.WatchEvent{Event: &telemetryv1alpha1.WatchEvent_Delta{Delta: delta}})
}

func (k *talker) heartbeat(generation uint64) {
	k.t.Helper()
	k.say(&telemetryv1alpha1.WatchEvent{Event: &telemetryv1alpha1.WatchEvent_Heartbeat{
		Heartbeat: &telemetryv1alpha1.Heartbeat{Generation: generation},
	}})
}

// stage is a running client with its scripted telemetry and a clock that tells what
// the client waits for.
type stage struct {
	t       *testing.T
	client  *Client
	script  *script
	clock   *tellingClock
	changes chan Change
}

func newStage(t *testing.T) *stage {
	t.Helper()
	script, dial := serveScript(t)
	clk := newTellingClock()
	s := &stage{t: t, script: script, clock: clk, client: NewClient(dial, clk), changes: make(chan Change, 100)}
	s.client.OnChange(func(change Change) { s.changes <- change })
	t.Cleanup(run(t, s.client))
	return s
}

// run runs the client until the returned function is called, which waits for its end.
func run(t *testing.T, client *Client) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan struct{})
	go func() { defer close(ended); client.Run(ctx) }()
	return func() { cancel(); await(t, "the client's end", ended) }
}

// connection returns the next stream; the silence of it is being watched.
func (s *stage) connection(epoch string) *talker {
	s.t.Helper()
	await(s.t, "the watch over silence", s.clock.timers)
	return &talker{connection: await(s.t, "a connection", s.script.connected), t: s.t, epoch: epoch}
}

func (s *stage) change() Change {
	s.t.Helper()
	return await(s.t, "a change", s.changes)
}

// reconnect lets the pause before the next connection pass and returns its length.
func (s *stage) reconnect() time.Duration {
	s.t.Helper()
	pause := await(s.t, "the pause before a connection", s.clock.pauses)
	s.clock.Step(pause)
	return pause
}

// tellingClock tells the test when somebody waits for it.
type tellingClock struct {
	*clocktesting.FakeClock

	pauses chan time.Duration
	timers chan struct{}
	resets chan struct{}
}

func newTellingClock() *tellingClock {
	return &tellingClock{
		FakeClock: clocktesting.NewFakeClock(time.Unix(1000, 0)),
		pauses:    make(chan time.Duration, 100), timers: make(chan struct{}, 100), resets: make(chan struct{}, 100),
	}
}

// After tells how long somebody waits.
func (c *tellingClock) After(d time.Duration) <-chan time.Time {
	ch := c.FakeClock.After(d)
	c.pauses <- d
	return ch
}

// NewTimer tells that a timer runs.
func (c *tellingClock) NewTimer(d time.Duration) clock.Timer {
	timer := &tellingTimer{Timer: c.FakeClock.NewTimer(d), resets: c.resets}
	c.timers <- struct{}{}
	return timer
}

type tellingTimer struct {
	clock.Timer

	resets chan struct{}
}

// Reset tells that the timer starts anew.
func (t *tellingTimer) Reset(d time.Duration) bool {
	active := t.Timer.Reset(d)
	t.resets <- struct{}{}
	return active
}
