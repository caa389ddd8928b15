package fleet

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	telemetryv1alpha1 "wastenot.dev/api/telemetry/v1alpha1"
	"wastenot.dev/api/v1alpha1"
)

// NewDialer returns a Dialer for telemetry as args describe it. name says who is
// asking, for telemetry's log.
func NewDialer(args v1alpha1.FleetClientArgs, name string) Dialer {
	return func(ctx context.Context) (telemetryv1alpha1.Fleet_WatchClient, func(), error) {
		config, err := clientTLS(args)
		if err != nil {
			return nil, nil, err
		}
		conn, err := grpc.NewClient(args.Address,
			grpc.WithTransportCredentials(credentials.NewTLS(config)),
			grpc.WithPerRPCCredentials(fileToken(args.TokenFile)),
			grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(256<<20)),
		)
		if err != nil {
			return nil, nil, err
		}
		stream, err := telemetryv1alpha1.NewFleetClient(conn).Watch(ctx, &telemetryv1alpha1.WatchRequest{Client: name})
		if err != nil {
			return nil, nil, errors.Join(err, conn.Close())
		}
		return stream, func() { _ = conn.Close() }, nil
	}
}

func clientTLS(args v1alpha1.FleetClientArgs) (*tls.Config, error) {
	host, _, err := net.SplitHostPort(args.Address)
	if err != nil {
		return nil, fmt.Errorf("reading the address of telemetry: %w", err)
	}
	if args.ServerName != "" {
		host = args.ServerName
	}
	pem, err := os.ReadFile(args.CAFile)
	if err != nil {
		return nil, fmt.Errorf("reading the CA bundle: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("the CA bundle %s holds no certificate", args.CAFile)
	}
	return &tls.Config{MinVersion: tls.VersionTLS13, ServerName: host, RootCAs: pool}, nil
}

// fileToken reads a bearer token from a file for every call, since a projected
// token is replaced while the process runs.
type fileToken string

// GetRequestMetadata returns the authorization header.
func (f fileToken) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	token, err := os.ReadFile(string(f))
	if err != nil {
		return nil, fmt.Errorf("reading the token: %w", err)
	}
	return map[string]string{"authorization": "Bearer " + strings.TrimSpace(string(token))}, nil
}

// RequireTransportSecurity keeps the token off an unencrypted connection.
func (fileToken) RequireTransportSecurity() bool { return true }
