package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"go.etcd.io/etcd/server/v3/embed"
)

// socketPathLimit is what sun_path holds on Linux (108 bytes with the final
// NUL); macOS has 104, so the smaller one is the limit everywhere.
const socketPathLimit = 103

// store is the running etcd.
type store struct {
	server   *embed.Etcd
	endpoint string // as kube-apiserver takes it
}

// startEtcd returns when etcd has elected itself and serves. It listens on a
// unix socket in a directory that only this user may enter, because it asks
// nobody for a password; the peer port is never dialled.
func startEtcd(ctx context.Context, opts options) (*store, error) {
	socket := filepath.Join(opts.dir, "etcd.sock")
	if len(socket) > socketPathLimit {
		return nil, fmt.Errorf("starting etcd: socket path %q is longer than %d bytes", socket, socketPathLimit)
	}
	// A socket file that a killed predecessor left behind cannot be bound again.
	if err := os.Remove(socket); err != nil && !os.IsNotExist(err) {
		return nil, fmt.Errorf("starting etcd: %w", err)
	}
	endpoint := url.URL{Scheme: "unix", Path: socket}
	peer := url.URL{Scheme: "http", Host: "127.0.0.1:0"}

	cfg := embed.NewConfig()
	cfg.Name = "control-plane"
	cfg.Dir = filepath.Join(opts.dir, "etcd")
	cfg.ListenClientUrls = []url.URL{endpoint}
	cfg.AdvertiseClientUrls = []url.URL{peer}
	cfg.ListenPeerUrls = []url.URL{peer}
	cfg.AdvertisePeerUrls = []url.URL{peer}
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	cfg.UnsafeNoFsync = !opts.fsync
	cfg.LogLevel = "error"
	// The default of 2 GiB stops a long benchmark with "database space exceeded".
	cfg.QuotaBackendBytes = 8 << 30

	server, err := embed.StartEtcd(cfg)
	if err != nil {
		return nil, fmt.Errorf("starting etcd: %w", err)
	}
	select {
	case <-server.Server.ReadyNotify():
		return &store{server: server, endpoint: endpoint.String()}, nil
	case err := <-server.Err():
		return nil, fmt.Errorf("starting etcd: %w", err)
	case <-ctx.Done():
		server.Server.HardStop()
		return nil, fmt.Errorf("starting etcd: %w", ctx.Err())
	}
}

// close flushes the database. It does not wait for clients: the API server's
// watches on the same process would hold a graceful stop for its full timeout.
func (s *store) close() {
	s.server.Server.Stop()
}

// abort stops writing to the data directory, so that it can be removed.
func (s *store) abort() {
	s.server.Server.HardStop()
}
