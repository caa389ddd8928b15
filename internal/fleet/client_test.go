package fleet

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	telemetryv1alpha1 "wastenot.dev/api/telemetry/v1alpha1"
	"wastenot.dev/api/v1alpha1"
)

func nodeOf(name string, grades ...v1alpha1.Grade) *Node {
	node := &Node{Name: name}
	for i, grade := range grades {
		node.Devices = append(node.Devices, Device{UUID: name + "-" + string(rune('0'+i)), Grade: grade})
	}
	node.CountFailed()
	return node
}

func wantChange(t *testing.T, got Change, generation uint64, names []string, nodes ...*Node) {
	t.Helper()
	slices.Sort(got.Nodes)
	if diff := cmp.Diff(names, got.Nodes); diff != "" {
		t.Errorf("names of what changed (-want +got):\n%s", diff)
	}
	want := &Snapshot{Epoch: got.New.Epoch, Generation: generation, Nodes: map[string]*Node{}}
	for _, node := range nodes {
		want.Nodes[node.Name] = node
	}
	if diff := cmp.Diff(want, got.New); diff != "" {
		t.Errorf("snapshot (-want +got):\n%s", diff)
	}
}

func TestClientFollowsTelemetry(t *testing.T) {
	healthyA, failedA := nodeOf("a", v1alpha1.GradeHealthy), nodeOf("a", v1alpha1.GradeFailed)
	nodeB, nodeC := nodeOf("b", v1alpha1.GradeSuspect), nodeOf("c", v1alpha1.GradeUnknown)
	s := newStage(t)
	if _, heard := s.client.Silence(s.clock.Now()); heard || s.client.Snapshot() != Empty {
		t.Error("a new client has heard something")
	}
	telemetry := s.connection("life 1")
	if telemetry.request.GetClient() != "test" {
		t.Errorf("the client is %q", telemetry.request.GetClient())
	}

	telemetry.snapshot(7, healthyA, nodeB)
	wantChange(t, s.change(), 7, []string{"a", "b"}, healthyA, nodeB)
	first := s.client.Snapshot()

	telemetry.heartbeat(7)
	telemetry.delta(8, []string{"b"}, failedA, nodeC)
	change := s.change()
	wantChange(t, change, 8, []string{"a", "b", "c"}, failedA, nodeC)
	if change.Old != first || s.client.Snapshot() != change.New {
		t.Error("the change does not lead from the first snapshot to the current one")
	}
	if diff := cmp.Diff(healthyA, first.Node("a")); diff != "" {
		t.Errorf("a published snapshot was changed:\n%s", diff)
	}

	telemetry.heartbeat(8)
	telemetry.delta(9, nil)
	wantChange(t, s.change(), 9, nil, failedA, nodeC)
	if s.client.Resyncs() != 0 {
		t.Errorf("%d resyncs", s.client.Resyncs())
	}
}

func TestClientStartsOverWhenAMessageIsMissing(t *testing.T) {
	node := nodeOf("a", v1alpha1.GradeHealthy)
	tests := map[string]struct {
		first bool // What is said comes instead of the snapshot.
		say   func(k *talker)
	}{
		"a sequence is skipped":               {say: func(k *talker) { k.sequence++; k.heartbeat(7) }},
		"a sequence comes twice":              {say: func(k *talker) { k.sequence--; k.heartbeat(7) }},
		"another epoch":                       {say: func(k *talker) { k.epoch = "life 2"; k.delta(8, nil, node) }},
		"a heartbeat of another generation":   {say: func(k *talker) { k.heartbeat(8) }},
		"a heartbeat before the snapshot":     {first: true, say: func(k *talker) { k.heartbeat(0) }},
		"a delta before the snapshot":         {first: true, say: func(k *talker) { k.delta(1, nil, node) }},
		"a snapshot that is not the first":    {first: true, say: func(k *talker) { k.sequence = 5; k.snapshot(1, node) }},
		"a message of a kind yet to be known": {first: true, say: func(k *talker) { k.say(&telemetryv1alpha1.WatchEvent{}) }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			telemetry := s.connection("life 1")
			if !test.first {
				telemetry.snapshot(7, node)
				s.change()
			}
			before := s.client.Snapshot()
			test.say(telemetry)
			await(t, "the client to leave", telemetry.left)
			s.reconnect()
			again := s.connection("life 2")
			if s.client.Resyncs() != 1 {
				t.Errorf("%d resyncs, want 1", s.client.Resyncs())
			}
			if s.client.Snapshot() != before {
				t.Error("what followed a gap was published")
			}
			again.snapshot(1, nodeOf("b"))
			wantChange(t, s.change(), 1, changedNames(before, "b"), nodeOf("b"))
			if got := s.client.Snapshot().Epoch; got != "life 2" {
				t.Errorf("epoch %q", got)
			}
		})
	}
}

func changedNames(before *Snapshot, names ...string) []string {
	for name := range before.Nodes {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func TestClientLeavesASilentStreamAndKeepsItsSnapshot(t *testing.T) {
	s := newStage(t)
	telemetry := s.connection("life 1")
	telemetry.snapshot(7, nodeOf("a"))
	before := s.change().New
	await(t, "the watch to start anew", s.clock.resets)

	s.clock.Step(silenceLimit - time.Second)
	telemetry.heartbeat(7)
	await(t, "the watch to start anew", s.clock.resets)
	s.clock.Step(silenceLimit - time.Second)
	if silence, heard := s.client.Silence(s.clock.Now()); !heard || silence != silenceLimit-time.Second {
		t.Errorf("silence %s, %t, want %s", silence, heard, silenceLimit-time.Second)
	}
	select {
	case <-telemetry.left:
		t.Fatal("a heartbeat did not count as word from telemetry")
	default:
	}

	s.clock.Step(time.Second)
	await(t, "the client to leave", telemetry.left)
	await(t, "the pause before a connection", s.clock.pauses)
	s.clock.Step(time.Hour)
	if s.client.Snapshot() != before {
		t.Error("the last snapshot is gone")
	}
	if silence, _ := s.client.Silence(s.clock.Now()); silence != silenceLimit+time.Hour {
		t.Errorf("silence %s, want %s", silence, silenceLimit+time.Hour)
	}
	if s.client.Resyncs() != 0 {
		t.Error("silence counted as a gap")
	}

	s.connection("life 1").snapshot(7, nodeOf("a"))
	s.change()
	if silence, _ := s.client.Silence(s.clock.Now()); silence != 0 {
		t.Errorf("silence %s after word from telemetry", silence)
	}
}

// A peer that accepts and never answers, or a route into nowhere.
func TestClientGivesUpOnADialThatHangs(t *testing.T) {
	clk := newTellingClock()
	hung := make(chan struct{}, 1)
	client := NewClient(func(ctx context.Context) (telemetryv1alpha1.Fleet_WatchClient, func(), error) {
		hung <- struct{}{}
		<-ctx.Done()
		return nil, nil, ctx.Err()
	}, clk)
	defer run(t, client)()
	await(t, "the dial", hung)
	await(t, "the watch over silence", clk.timers)
	clk.Step(silenceLimit)
	await(t, "the pause before the next dial", clk.pauses)
}

func TestClientBacksOffFromATelemetryThatHangsUp(t *testing.T) {
	s := newStage(t)
	var pauses []time.Duration
	for range 8 {
		telemetry := s.connection("life 1")
		telemetry.snapshot(7, nodeOf("a"))
		s.change()
		telemetry.hangUp <- status.Error(codes.Unavailable, "no leader yet")
		pauses = append(pauses, s.reconnect())
	}
	if pauses[0] < 100*time.Millisecond || pauses[0] > 120*time.Millisecond {
		t.Errorf("the first pause is %s, want about 100ms", pauses[0])
	}
	if last := pauses[len(pauses)-1]; last < maxBackoff {
		t.Errorf("after %v still no pause of %s", pauses, maxBackoff)
	}

	// A stream that held for a while makes the next pause short again.
	telemetry := s.connection("life 1")
	telemetry.snapshot(7, nodeOf("a"))
	s.change()
	await(t, "the watch to start anew", s.clock.resets)
	for range 3 {
		s.clock.Step(silenceLimit / 2)
		for len(s.clock.resets) > 0 {
			<-s.clock.resets
		}
		telemetry.heartbeat(7)
		await(t, "the watch to start anew", s.clock.resets)
	}
	telemetry.hangUp <- nil
	if pause := s.reconnect(); pause > 120*time.Millisecond {
		t.Errorf("the pause is %s, want about 100ms", pause)
	}
}

func TestClientEndsWithItsContext(t *testing.T) {
	t.Run("while it listens", func(t *testing.T) {
		script, dial := serveScript(t)
		stop := run(t, NewClient(dial, newTellingClock()))
		telemetry := await(t, "a connection", script.connected)
		stop()
		await(t, "the client to leave", telemetry.left)
	})
	t.Run("while it pauses", func(t *testing.T) {
		clk := newTellingClock()
		stop := run(t, NewClient(func(context.Context) (telemetryv1alpha1.Fleet_WatchClient, func(), error) {
			return nil, nil, errors.New("no route")
		}, clk))
		await(t, "the pause before a connection", clk.pauses)
		stop()
	})
}
