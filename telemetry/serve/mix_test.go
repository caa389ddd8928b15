package serve

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	telemetryv1alpha1 "wastenot.dev/api/telemetry/v1alpha1"
	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/internal/fleet"
)

// ask replaces the mix in a new generation.
func (s *source) ask(mix *fleet.Mix) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := *s.snapshot
	next.Generation, next.Mix = next.Generation+1, mix
	s.snapshot = &next
	close(s.changed)
	s.changed = make(chan struct{})
}

func TestMixIsSentWhenItChanges(t *testing.T) {
	t.Parallel()
	mixOf := func(kind string) *fleet.Mix { return &fleet.Mix{Items: []fleet.MixItem{{Kind: kind, Weight: 1}}} }
	wire := func(kind string) *telemetryv1alpha1.Mix {
		return &telemetryv1alpha1.Mix{Items: []*telemetryv1alpha1.MixItem{{Kind: kind, Weight: 1}}}
	}
	for name, test := range map[string]struct {
		known *fleet.Mix
		do    func(*source)
		first *telemetryv1alpha1.Mix
		then  *telemetryv1alpha1.Mix
		nodes int
	}{
		"it comes":                {nil, func(s *source) { s.ask(mixOf("a")) }, nil, wire("a"), 0},
		"it comes and is empty":   {nil, func(s *source) { s.ask(&fleet.Mix{}) }, nil, &telemetryv1alpha1.Mix{}, 0},
		"it changes":              {mixOf("a"), func(s *source) { s.ask(mixOf("b")) }, wire("a"), wire("b"), 0},
		"something else changes":  {mixOf("a"), func(s *source) { s.change("n", graded("n", v1alpha1.GradeFailed)) }, wire("a"), nil, 1},
		"nothing of it is known":  {nil, func(s *source) { s.change("n", graded("n", v1alpha1.GradeFailed)) }, nil, nil, 1},
		"it is empty from before": {&fleet.Mix{}, func(s *source) { s.ask(mixOf("a")) }, &telemetryv1alpha1.Mix{}, wire("a"), 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fleetSource := newSource()
			fleetSource.snapshot.Mix = test.known
			stream, err := newServer(t, fleetSource).watch(t.Context(), "Bearer "+goodToken)
			if err != nil {
				t.Fatal(err)
			}
			first, err := stream.Recv()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.first, first.GetSnapshot().GetMix(), protocmp.Transform()); diff != "" {
				t.Errorf("mix of the snapshot (-want +got):\n%s", diff)
			}
			test.do(fleetSource)
			then, err := stream.Recv()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.then, then.GetDelta().GetMix(), protocmp.Transform()); diff != "" {
				t.Errorf("mix of the delta (-want +got):\n%s", diff)
			}
			if got := len(then.GetDelta().GetChanged()); got != test.nodes {
				t.Errorf("%d nodes came along, want %d", got, test.nodes)
			}
		})
	}
}
