package serve

import (
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	telemetryv1alpha1 "wastenot.dev/api/telemetry/v1alpha1"
	"wastenot.dev/internal/fleet"
)

// heartbeatInterval is how often a stream says that telemetry is alive.
const heartbeatInterval = time.Second

// Source is the fleet as it is kept elsewhere.
type Source interface {
	Snapshot() *fleet.Snapshot
	// Changed returns a channel that is closed at the next change.
	Changed() <-chan struct{}
}

// Fleet is the gRPC service.
type Fleet struct {
	telemetryv1alpha1.UnimplementedFleetServer

	source Source
	clock  clock.WithTicker
}

// NewFleet returns the service.
func NewFleet(source Source, clk clock.WithTicker) *Fleet {
	return &Fleet{source: source, clock: clk}
}

// Watch follows the fleet until the caller leaves.
func (f *Fleet) Watch(request *telemetryv1alpha1.WatchRequest, stream grpc.ServerStreamingServer[telemetryv1alpha1.WatchEvent]) error {
	logger := klog.FromContext(stream.Context()).WithName("serve")
	logger.V(2).Info("Watch began", "client", request.GetClient(), "user", userFrom(stream.Context()))
	defer logger.V(2).Info("Watch ended", "client", request.GetClient(), "user", userFrom(stream.Context()))

	changed := f.source.Changed()
	last := f.source.Snapshot()
	out := sender{stream: stream, epoch: last.Epoch, clock: f.clock}
	if err := out.send(snapshotEvent(last)); err != nil {
		return err
	}
	ticker := f.clock.NewTicker(heartbeatInterval)
	defer ticker.Stop()
	for {
		var event *telemetryv1alpha1.WatchEvent
		select {
		case <-stream.Context().Done():
			return stream.Context().Err()
		case <-ticker.C():
			event = heartbeatEvent(last)
		case <-changed:
			changed = f.source.Changed()
			next := f.source.Snapshot()
			if next == last {
				continue // It was read before the word of it came.
			}
			event = deltaEvent(last, next)
			last = next
		}
		if err := out.send(event); err != nil {
			return err
		}
	}
}

// sender numbers the messages of one stream.
type sender struct {
	stream   grpc.ServerStreamingServer[telemetryv1alpha1.WatchEvent]
	epoch    string
	sequence uint64
	clock    clock.PassiveClock
}

func (s *sender) send(event *telemetryv1alpha1.WatchEvent) error {
	s.sequence++
	event.Epoch, event.Sequence, event.SentAt = s.epoch, s.sequence, timestamppb.New(s.clock.Now())
	return s.stream.Send(event)
}

func snapshotEvent(s *fleet.Snapshot) *telemetryv1alpha1.WatchEvent {
	snapshot := &telemetryv1alpha1.Snapshot{Generation: s.Generation, Mix: fleet.MixToWire(s.Mix)}
	for _, node := range s.Nodes {
		snapshot.Nodes = append(snapshot.Nodes, fleet.ToWire(node))
	}
	return &telemetryv1alpha1.WatchEvent{Event: &telemetryv1alpha1.WatchEvent_Snapshot{Snapshot: snapshot}}
}

// deltaEvent finds what differs by pointer: unchanged nodes, and an unchanged mix, are
// shared between snapshots.
func deltaEvent(old, next *fleet.Snapshot) *telemetryv1alpha1.WatchEvent {
	delta := &telemetryv1alpha1.Delta{Generation: next.Generation}
	for name, node := range next.Nodes {
		if old.Nodes[name] != node {
			delta.Changed = append(delta.Changed, fleet.ToWire(node))
		}
	}
	for name := range old.Nodes {
		if next.Nodes[name] == nil {
			delta.Removed = append(delta.Removed, name)
		}
	}
	if next.Mix != old.Mix {
		delta.Mix = fleet.MixToWire(next.Mix)
	}
	return &telemetryv1alpha1.WatchEvent{Event: &telemetryv1alpha1.WatchEvent_Delta{Delta: delta}}
}

func heartbeatEvent(s *fleet.Snapshot) *telemetryv1alpha1.WatchEvent {
	return &telemetryv1alpha1.WatchEvent{Event: &telemetryv1alpha1.WatchEvent_Heartbeat{Heartbeat: &telemetryv1alpha1.Heartbeat{Generation: s.Generation}}}
}
