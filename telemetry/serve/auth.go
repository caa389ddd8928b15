package serve

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// acceptedFor is how long an accepted token is not asked about again. The API server
// itself remembers answers for about as long.
const acceptedFor = 10 * time.Second

// Gate lets in the callers whose token names an allowed user.
type Gate struct {
	reviews  authenticationclient.TokenReviewInterface
	audience string
	allowed  []string
	clock    clock.PassiveClock

	mu       sync.Mutex
	accepted map[[sha256.Size]byte]admission
}

type admission struct {
	user  string
	until time.Time
}

// NewGate returns a gate for tokens of the audience. allowed are full user names,
// such as system:serviceaccount:wastenot-system:wastenot-scheduler.
func NewGate(reviews authenticationclient.TokenReviewInterface, audience string, allowed []string, clk clock.PassiveClock) *Gate {
	return &Gate{reviews: reviews, audience: audience, allowed: allowed, clock: clk, accepted: map[[sha256.Size]byte]admission{}}
}

// Stream is the gRPC interceptor.
func (g *Gate) Stream(server any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	user, err := g.admit(stream.Context())
	if err != nil {
		klog.FromContext(stream.Context()).WithName("serve").Info("Turned a caller away", "reason", err.Error())
		return err
	}
	return handler(server, &admitted{ServerStream: stream, ctx: context.WithValue(stream.Context(), userKey{}, user)})
}

func (g *Gate) admit(ctx context.Context) (string, error) {
	token, err := bearer(ctx)
	if err != nil {
		return "", status.Error(codes.Unauthenticated, err.Error())
	}
	user, err := g.identify(ctx, token)
	if err != nil {
		return "", err
	}
	if !slices.Contains(g.allowed, user) {
		return "", status.Errorf(codes.PermissionDenied, "user %q may not watch the fleet", user)
	}
	return user, nil
}

// identify asks the API server whose token it is.
func (g *Gate) identify(ctx context.Context, token string) (string, error) {
	key := sha256.Sum256([]byte(token))
	if user, ok := g.recall(key); ok {
		return user, nil
	}
	review, err := g.reviews.Create(ctx, &authenticationv1.TokenReview{
		Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: []string{g.audience}},
	}, metav1.CreateOptions{})
	if err != nil {
		return "", status.Error(codes.Unavailable, fmt.Sprintf("asking the API server about the token: %v", err))
	}
	if !review.Status.Authenticated || !slices.Contains(review.Status.Audiences, g.audience) {
		return "", status.Errorf(codes.Unauthenticated, "the token is not valid for audience %q", g.audience)
	}
	user := review.Status.User.Username
	g.remember(key, user)
	return user, nil
}

func (g *Gate) recall(key [sha256.Size]byte) (string, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	entry, ok := g.accepted[key]
	return entry.user, ok && g.clock.Now().Before(entry.until)
}

func (g *Gate) remember(key [sha256.Size]byte, user string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.clock.Now()
	for old, entry := range g.accepted {
		if now.After(entry.until) {
			delete(g.accepted, old)
		}
	}
	g.accepted[key] = admission{user: user, until: now.Add(acceptedFor)}
}

func bearer(ctx context.Context) (string, error) {
	headers, _ := metadata.FromIncomingContext(ctx)
	for _, value := range headers.Get("authorization") {
		if token, found := strings.CutPrefix(value, "Bearer "); found && token != "" {
			return token, nil
		}
	}
	return "", errors.New("no bearer token was sent")
}

type userKey struct{}

func userFrom(ctx context.Context) string {
	user, _ := ctx.Value(userKey{}).(string)
	return user
}

// admitted carries who the caller is.
type admitted struct {
	grpc.ServerStream
	ctx context.Context //nolint:containedctx // gRPC passes a stream's context only this way.
}

// Context returns the stream's context with the user in it.
func (a *admitted) Context() context.Context { return a.ctx }
