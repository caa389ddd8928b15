package serve

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/timestamppb"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	telemetryv1alpha1 "wastenot.dev/api/telemetry/v1alpha1"
	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/internal/fleet"
)

// TestClientFollowsTheFleet has the client that the scheduler uses follow a fleet.
func TestClientFollowsTheFleet(t *testing.T) {
	t.Parallel()
	fleetSource := newSource(graded("a", v1alpha1.GradeHealthy), graded("b", v1alpha1.GradeFailed))
	s := newServer(t, fleetSource)
	client := fleet.NewClient(func(ctx context.Context) (telemetryv1alpha1.Fleet_WatchClient, func(), error) {
		stream, err := s.watch(ctx, "Bearer "+goodToken)
		return stream, func() {}, err
	}, clock.RealClock{})
	changes := make(chan fleet.Change, 16)
	client.OnChange(func(change fleet.Change) { changes <- change })
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		client.Run(ctx)
	}()

	for _, step := range []struct {
		what    string
		do      func()
		changed []string
	}{
		{"connects", func() {}, []string{"a", "b"}},
		{"sees a change", func() { fleetSource.change("a", graded("a", v1alpha1.GradeFailed)) }, []string{"a"}},
		{"sees a new node", func() { fleetSource.change("c", graded("c", v1alpha1.GradeUnknown)) }, []string{"c"}},
		{"sees a node go", func() { fleetSource.change("b", nil) }, []string{"b"}},
	} {
		step.do()
		change := <-changes
		if diff := cmp.Diff(step.changed, change.Nodes, cmpopts.SortSlices(func(a, b string) bool { return a < b })); diff != "" {
			t.Errorf("%s: changed nodes (-want +got):\n%s", step.what, diff)
		}
		if diff := cmp.Diff(fleetSource.Snapshot(), client.Snapshot()); diff != "" {
			t.Errorf("%s: snapshot (-want +got):\n%s", step.what, diff)
		}
	}
	if client.Resyncs() != 0 {
		t.Errorf("the client started over %d times", client.Resyncs())
	}
	cancel()
	<-ended
}

func TestHeartbeatEachSecond(t *testing.T) {
	t.Parallel()
	fleetSource := newSource(graded("a", v1alpha1.GradeHealthy))
	s := newServer(t, fleetSource)
	stream, err := s.watch(t.Context(), "Bearer "+goodToken)
	if err != nil {
		t.Fatal(err)
	}
	wire := func(name string, grade v1alpha1.Grade) []*telemetryv1alpha1.Node {
		return []*telemetryv1alpha1.Node{fleet.ToWire(graded(name, grade))}
	}
	for sequence, step := range []struct {
		do   func()
		want *telemetryv1alpha1.WatchEvent
	}{
		{
			func() {},
			&telemetryv1alpha1.WatchEvent{Event: &telemetryv1alpha1.WatchEvent_Snapshot{
				Snapshot: &telemetryv1alpha1.Snapshot{Generation: 1, Nodes: wire("a", v1alpha1.GradeHealthy)},
			}},
		},
		{
			func() { s.clock.Step(time.Second) },
			&telemetryv1alpha1.WatchEvent{Event: &telemetryv1alpha1.WatchEvent_Heartbeat{Heartbeat: &telemetryv1alpha1.Heartbeat{Generation: 1}}},
		},
		{
			func() { fleetSource.change("b", graded("b", v1alpha1.GradeFailed)) },
			&telemetryv1alpha1.WatchEvent{Event: &telemetryv1alpha1.WatchEvent_Delta{
				Delta: &telemetryv1alpha1.Delta{Generation: 2, Changed: wire("b", v1alpha1.GradeFailed)},
			}},
		},
		{
			func() { s.clock.Step(time.Second) },
			&telemetryv1alpha1.WatchEvent{Event: &telemetryv1alpha1.WatchEvent_Heartbeat{Heartbeat: &telemetryv1alpha1.Heartbeat{Generation: 2}}},
		},
		{
			func() { fleetSource.change("a", nil) },
			&telemetryv1alpha1.WatchEvent{Event: &telemetryv1alpha1.WatchEvent_Delta{
				Delta: &telemetryv1alpha1.Delta{Generation: 3, Removed: []string{"a"}},
			}},
		},
	} {
		step.do()
		got, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		step.want.Epoch, step.want.Sequence, step.want.SentAt = "first", uint64(sequence+1), timestamppb.New(s.clock.Now())
		if diff := cmp.Diff(step.want, got, protocmp.Transform()); diff != "" {
			t.Errorf("message %d (-want +got):\n%s", sequence+1, diff)
		}
		awaitTicker(s.clock)
	}
}

// awaitTicker returns once the stream waits for its next heartbeat, so that a step of
// the clock is not lost on it.
func awaitTicker(clock *clocktesting.FakeClock) {
	for !clock.HasWaiters() {
		runtime.Gosched()
	}
}

// slowStream takes a message only when the test asks for one.
type slowStream struct {
	grpc.ServerStream
	ctx  context.Context
	sent chan *telemetryv1alpha1.WatchEvent
}

func (s *slowStream) Context() context.Context { return s.ctx }

func (s *slowStream) Send(event *telemetryv1alpha1.WatchEvent) error {
	select {
	case s.sent <- event:
		return nil
	case <-s.ctx.Done():
		return s.ctx.Err()
	}
}

func TestSlowClientGetsWhatItMissedAsOneDelta(t *testing.T) {
	t.Parallel()
	fleetSource := newSource(graded("a", v1alpha1.GradeHealthy), graded("b", v1alpha1.GradeHealthy))
	ctx, cancel := context.WithCancel(t.Context())
	stream := &slowStream{ctx: ctx, sent: make(chan *telemetryv1alpha1.WatchEvent)}
	ended := make(chan error, 1)
	service := NewFleet(fleetSource, clocktesting.NewFakeClock(midnight))
	go func() { ended <- service.Watch(&telemetryv1alpha1.WatchRequest{}, stream) }()

	if (<-stream.sent).GetSnapshot() == nil {
		t.Fatal("the first message is no snapshot")
	}
	// It is now stuck with the first change while the fleet goes on, held up by nobody.
	fleetSource.change("a", graded("a", v1alpha1.GradeSuspect))
	first := (<-stream.sent).GetDelta()
	fleetSource.change("a", graded("a", v1alpha1.GradeDegraded))
	stuck := make(chan struct{})
	go func() {
		defer close(stuck)
		fleetSource.change("a", graded("a", v1alpha1.GradeFailed))
		fleetSource.change("b", nil)
		fleetSource.change("c", graded("c", v1alpha1.GradeHealthy))
		fleetSource.change("d", graded("d", v1alpha1.GradeHealthy))
		fleetSource.change("d", nil)
	}()
	<-stuck
	var merged []*telemetryv1alpha1.Delta
	last := first.GetGeneration()
	for last < fleetSource.Snapshot().Generation {
		delta := (<-stream.sent).GetDelta()
		if delta.GetGeneration() <= last {
			t.Fatalf("generation %d after %d", delta.GetGeneration(), last)
		}
		last = delta.GetGeneration()
		merged = append(merged, delta)
	}
	if len(merged) > 2 {
		t.Errorf("%d messages for what was missed", len(merged))
	}
	got := map[string]string{}
	for _, delta := range merged {
		for _, node := range delta.GetChanged() {
			got[node.GetName()] = node.GetDevices()[0].GetGrade()
		}
		for _, name := range delta.GetRemoved() {
			got[name] = "removed"
		}
	}
	if diff := cmp.Diff(map[string]string{"a": "Failed", "b": "removed", "c": "Healthy"}, got); diff != "" {
		t.Errorf("what it was told (-want +got):\n%s", diff)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
}

// busySource changes between the word of a change and its being read.
type busySource struct {
	*source
	meddle func()
}

func (s *busySource) Changed() <-chan struct{} {
	changed := s.source.Changed()
	if s.meddle != nil {
		meddle := s.meddle
		s.meddle = nil
		meddle()
	}
	return changed
}

func TestChangeThatWasReadEarlyIsNotToldTwice(t *testing.T) {
	t.Parallel()
	fleetSource := &busySource{source: newSource(graded("a", v1alpha1.GradeHealthy))}
	fleetSource.meddle = func() { fleetSource.change("b", graded("b", v1alpha1.GradeHealthy)) }
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stream := &slowStream{ctx: ctx, sent: make(chan *telemetryv1alpha1.WatchEvent)}
	clk := clocktesting.NewFakeClock(midnight)
	ended := make(chan error, 1)
	go func() { ended <- NewFleet(fleetSource, clk).Watch(&telemetryv1alpha1.WatchRequest{}, stream) }()
	if got := (<-stream.sent).GetSnapshot(); len(got.GetNodes()) != 2 {
		t.Fatalf("the snapshot has %d nodes", len(got.GetNodes()))
	}
	fleetSource.change("c", graded("c", v1alpha1.GradeHealthy))
	if got := (<-stream.sent).GetDelta(); len(got.GetChanged()) != 1 || got.GetGeneration() != 3 {
		t.Errorf("told again: %v", got)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
}
