//go:build integration

package integration

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/internal/fleet"
	"wastenot.dev/test/fixture/rig"
)

// TestWhoMayWatch tries the fleet service with every kind of caller, over the real
// certificate and with tokens of the real API server.
func TestWhoMayWatch(t *testing.T) {
	onEachVersion(t, func(ctx context.Context, t *testing.T, r *rig.Rig) {
		token := func(account, audience string) string {
			path, err := r.Cluster.TokenFile(ctx, v1alpha1.SystemNamespace, account, audience)
			if err != nil {
				t.Fatal(err)
			}
			return path
		}
		garbage := filepath.Join(t.TempDir(), "token")
		if err := os.WriteFile(garbage, []byte("no token at all"), 0o600); err != nil {
			t.Fatal(err)
		}
		for name, test := range map[string]struct {
			token      string
			serverName string
			want       codes.Code
		}{
			"the scheduler":                      {token("wastenot-scheduler", v1alpha1.FleetAudience), "", codes.OK},
			"another account, right audience":    {token("default", v1alpha1.FleetAudience), "", codes.PermissionDenied},
			"the scheduler, token for the API":   {token("wastenot-scheduler", ""), "", codes.Unauthenticated},
			"garbage":                            {garbage, "", codes.Unauthenticated},
			"a server that bears another's name": {token("wastenot-scheduler", v1alpha1.FleetAudience), "elsewhere.example", codes.Unavailable},
		} {
			t.Run(name, func(t *testing.T) {
				args := r.FleetClientArgs(test.token)
				if test.serverName != "" {
					args.ServerName = test.serverName
				}
				ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
				defer cancel()
				stream, done, err := fleet.NewDialer(args, "test")(ctx)
				if err == nil {
					defer done()
					_, err = stream.Recv()
				}
				if got := status.Code(err); got != test.want {
					t.Fatalf("got %s (%v), want %s", got, err, test.want)
				}
			})
		}
	})
}
