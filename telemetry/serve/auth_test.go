package serve

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	authenticationv1 "k8s.io/api/authentication/v1"

	"wastenot.dev/api/v1alpha1"
)

func TestGate(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		header  []string
		answer  authenticationv1.TokenReviewStatus
		err     error
		want    codes.Code
		wantSay string
		asked   int
	}{
		"the scheduler": {
			header: []string{"Bearer t"}, answer: accepted(schedulerUser), want: codes.OK, asked: 1,
		},
		"the token is the second of two headers": {
			header: []string{"Basic dXNlcg==", "Bearer t"}, answer: accepted(schedulerUser), want: codes.OK, asked: 1,
		},
		"no token":        {want: codes.Unauthenticated, wantSay: "no bearer token"},
		"another scheme":  {header: []string{"Basic dXNlcg=="}, want: codes.Unauthenticated, wantSay: "no bearer token"},
		"an empty token":  {header: []string{"Bearer "}, want: codes.Unauthenticated, wantSay: "no bearer token"},
		"a bad token":     {header: []string{"Bearer t"}, want: codes.Unauthenticated, wantSay: "not valid", asked: 1},
		"another subject": {header: []string{"Bearer t"}, answer: accepted("system:serviceaccount:team:curious"), want: codes.PermissionDenied, wantSay: "curious", asked: 1},
		"the same name in another namespace": {
			header: []string{"Bearer t"}, answer: accepted("system:serviceaccount:team:wastenot-scheduler"), want: codes.PermissionDenied, wantSay: "team", asked: 1,
		},
		"a token for somebody else": {
			header: []string{"Bearer t"}, want: codes.Unauthenticated, wantSay: v1alpha1.FleetAudience, asked: 1,
			answer: authenticationv1.TokenReviewStatus{Authenticated: true, Audiences: []string{"https://kubernetes.default.svc"}, User: authenticationv1.UserInfo{Username: schedulerUser}},
		},
		"an API server that knows no audiences": {
			header: []string{"Bearer t"}, want: codes.Unauthenticated, wantSay: v1alpha1.FleetAudience, asked: 1,
			answer: authenticationv1.TokenReviewStatus{Authenticated: true, User: authenticationv1.UserInfo{Username: schedulerUser}},
		},
		"the right audience but not authenticated": {
			header: []string{"Bearer t"}, want: codes.Unauthenticated, wantSay: "not valid", asked: 1,
			answer: authenticationv1.TokenReviewStatus{Audiences: []string{v1alpha1.FleetAudience}, User: authenticationv1.UserInfo{Username: schedulerUser}},
		},
		"the API server is down": {
			header: []string{"Bearer t"}, err: errors.New("connection refused"), want: codes.Unavailable, wantSay: "connection refused", asked: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, newSource(graded("a", v1alpha1.GradeHealthy)))
			s.reviewer.answers, s.reviewer.err = map[string]authenticationv1.TokenReviewStatus{"t": test.answer}, test.err
			event, err := s.first(t, test.header...)
			if status.Code(err) != test.want {
				t.Fatalf("got %v, want %s", err, test.want)
			}
			if (test.want == codes.OK) != (event.GetSnapshot() != nil) {
				t.Errorf("the caller was sent %v", event)
			}
			if err != nil && !strings.Contains(err.Error(), test.wantSay) {
				t.Errorf("error %q does not say %q", err, test.wantSay)
			}
			if err != nil && strings.Contains(err.Error(), "Bearer") {
				t.Errorf("error %q holds the token", err)
			}
			var want []authenticationv1.TokenReviewSpec
			for range test.asked {
				want = append(want, authenticationv1.TokenReviewSpec{Token: "t", Audiences: []string{v1alpha1.FleetAudience}})
			}
			if diff := cmp.Diff(want, s.reviewer.asked); diff != "" {
				t.Errorf("reviews (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAcceptedTokenIsNotAskedAboutAgainForAWhile(t *testing.T) {
	t.Parallel()
	s := newServer(t, newSource())
	watch := func(want codes.Code, reviews int) {
		t.Helper()
		if _, err := s.first(t, "Bearer "+goodToken); status.Code(err) != want {
			t.Errorf("got %v, want %s", err, want)
		}
		if got := s.reviewer.reviews(); got != reviews {
			t.Errorf("%d reviews, want %d", got, reviews)
		}
	}
	watch(codes.OK, 1)
	s.clock.Step(acceptedFor - time.Millisecond)
	// The API server may be away for that long.
	s.reviewer.set(func() { s.reviewer.err = errors.New("down") })
	watch(codes.OK, 1)
	s.clock.Step(time.Millisecond)
	watch(codes.Unavailable, 2)
	// A token that was revoked is refused once it is asked about again.
	s.reviewer.set(func() { s.reviewer.err, s.reviewer.answers = nil, nil })
	watch(codes.Unauthenticated, 3)
	// What is refused is asked about each time: it may be valid a moment later.
	s.reviewer.set(func() {
		s.reviewer.answers = map[string]authenticationv1.TokenReviewStatus{goodToken: accepted(schedulerUser)}
	})
	watch(codes.OK, 4)
}

func TestUserWhoMayNotWatchIsRefusedFromMemoryToo(t *testing.T) {
	t.Parallel()
	s := newServer(t, newSource())
	s.reviewer.answers = map[string]authenticationv1.TokenReviewStatus{"t": accepted("system:serviceaccount:team:curious")}
	for range 2 {
		if _, err := s.first(t, "Bearer t"); status.Code(err) != codes.PermissionDenied {
			t.Errorf("got %v", err)
		}
	}
	if got := s.reviewer.reviews(); got != 1 {
		t.Errorf("%d reviews, want 1", got)
	}
}

func TestTokensAreNotRememberedForever(t *testing.T) {
	t.Parallel()
	s := newServer(t, newSource())
	for n := range 50 {
		token := fmt.Sprint("rotated-", n)
		s.reviewer.set(func() {
			s.reviewer.answers = map[string]authenticationv1.TokenReviewStatus{token: accepted(schedulerUser)}
		})
		if _, err := s.first(t, "Bearer "+token); err != nil {
			t.Fatal(err)
		}
		s.clock.Step(acceptedFor + time.Second)
	}
	s.gate.mu.Lock()
	defer s.gate.mu.Unlock()
	if len(s.gate.accepted) != 1 {
		t.Errorf("%d tokens are remembered", len(s.gate.accepted))
	}
}
