package serve

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/test/bufconn"
	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"

	telemetryv1alpha1 "wastenot.dev/api/telemetry/v1alpha1"
	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/internal/fleet"
)

const (
	schedulerUser = "system:serviceaccount:wastenot-system:wastenot-scheduler"
	goodToken     = "the-scheduler's"
)

var midnight = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// source is a fleet that the test changes.
type source struct {
	mu       sync.Mutex
	snapshot *fleet.Snapshot
	changed  chan struct{}
}

func newSource(nodes ...*fleet.Node) *source {
	s := &source{changed: make(chan struct{}), snapshot: &fleet.Snapshot{Epoch: "first", Generation: 1, Nodes: map[string]*fleet.Node{}}}
	for _, node := range nodes {
		s.snapshot.Nodes[node.Name] = node
	}
	return s
}

func (s *source) Snapshot() *fleet.Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.snapshot
}

func (s *source) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

// change makes a new generation; a nil node removes the one of the name.
func (s *source) change(name string, node *fleet.Node) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := &fleet.Snapshot{Epoch: s.snapshot.Epoch, Generation: s.snapshot.Generation + 1, Nodes: map[string]*fleet.Node{}, Mix: s.snapshot.Mix}
	for other, kept := range s.snapshot.Nodes {
		next.Nodes[other] = kept
	}
	delete(next.Nodes, name)
	if node != nil {
		next.Nodes[name] = node
	}
	s.snapshot = next
	close(s.changed)
	s.changed = make(chan struct{})
}

func graded(name string, grade v1alpha1.Grade) *fleet.Node {
	node := &fleet.Node{Name: name, Devices: []fleet.Device{{
		UUID: "GPU-" + name, Index: "0", Grade: grade, ObservedAt: midnight, Budget: time.Minute, Activity: v1alpha1.ActivityUnknown,
	}}}
	node.CountFailed()
	return node
}

// reviewer stands for the API server's TokenReview.
type reviewer struct {
	client *fake.Clientset

	mu      sync.Mutex
	asked   []authenticationv1.TokenReviewSpec
	answers map[string]authenticationv1.TokenReviewStatus
	err     error
}

func newReviewer() *reviewer {
	r := &reviewer{client: fake.NewClientset(), answers: map[string]authenticationv1.TokenReviewStatus{goodToken: accepted(schedulerUser)}}
	r.client.PrependReactor("create", "tokenreviews", func(action clienttesting.Action) (bool, runtime.Object, error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		review := action.(clienttesting.CreateAction).GetObject().(*authenticationv1.TokenReview).DeepCopy()
		r.asked = append(r.asked, review.Spec)
		if r.err != nil {
			return true, nil, r.err
		}
		review.Status = r.answers[review.Spec.Token]
		return true, review, nil
	})
	return r
}

func accepted(user string) authenticationv1.TokenReviewStatus {
	return authenticationv1.TokenReviewStatus{
		Authenticated: true, Audiences: []string{v1alpha1.FleetAudience}, User: authenticationv1.UserInfo{Username: user},
	}
}

func (r *reviewer) set(change func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change()
}

func (r *reviewer) reviews() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.asked)
}

// server serves a source behind a gate, over a connection in memory.
type server struct {
	reviewer *reviewer
	clock    *clocktesting.FakeClock
	gate     *Gate
	client   telemetryv1alpha1.FleetClient
}

func newServer(t *testing.T, fleetSource Source) *server {
	t.Helper()
	s := &server{reviewer: newReviewer(), clock: clocktesting.NewFakeClock(midnight)}
	s.gate = NewGate(s.reviewer.client.AuthenticationV1().TokenReviews(), v1alpha1.FleetAudience, []string{schedulerUser}, s.clock)
	grpcServer := grpc.NewServer(grpc.StreamInterceptor(s.gate.Stream))
	telemetryv1alpha1.RegisterFleetServer(grpcServer, NewFleet(fleetSource, s.clock))
	listener := bufconn.Listen(1 << 20)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := grpcServer.Serve(listener); err != nil {
			t.Errorf("serving: %v", err)
		}
	}()
	conn, err := grpc.NewClient("passthrough:///memory", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close() // the test is over
		grpcServer.Stop()
		<-ended
	})
	s.client = telemetryv1alpha1.NewFleetClient(conn)
	return s
}

// watch opens a stream with the header values given.
func (s *server) watch(ctx context.Context, authorization ...string) (telemetryv1alpha1.Fleet_WatchClient, error) {
	for _, value := range authorization {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", value)
	}
	return s.client.Watch(ctx, &telemetryv1alpha1.WatchRequest{Client: "test"})
}

// first opens a stream and returns its first message or why there was none.
func (s *server) first(t *testing.T, authorization ...string) (*telemetryv1alpha1.WatchEvent, error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stream, err := s.watch(ctx, authorization...)
	if err != nil {
		return nil, err
	}
	return stream.Recv()
}
