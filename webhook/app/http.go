package app

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"k8s.io/klog/v2"

	"wastenot.dev/internal/probes"
)

// graceful is how long requests that have arrived may take when the process ends. None
// takes longer than the API server waits.
const graceful = 10 * time.Second

// serveAdmission serves the API server. When ctx ends, it takes no new requests and
// finishes those that it has.
func (s *service) serveAdmission(ctx context.Context) error {
	mux := http.NewServeMux()
	for path, handler := range s.handlers() {
		mux.Handle("POST "+path, handler)
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: s.trust.serves}
	if path := s.options.ClientCAFile; path != "" {
		var err error
		if config, err = onlyKnown(klog.FromContext(ctx), config, path); err != nil {
			return fmt.Errorf("serving admission: %w", err)
		}
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.options.WebhookAddress)
	if err != nil {
		return fmt.Errorf("listening for admission: %w", err)
	}
	server := &http.Server{
		Handler: mux, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
		TLSConfig: config,
		// What ends the process does not end a request; its own deadline does.
		BaseContext: func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
	}
	s.background("admission server", func() error {
		if err := server.ServeTLS(listener, "", ""); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	s.background("admission server", func() error {
		<-ctx.Done()
		s.serving.Store(false)
		return shutdown(ctx, server)
	})
	s.serving.Store(true)
	return nil
}

func shutdown(ctx context.Context, server *http.Server) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), graceful)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		klog.FromContext(ctx).Error(err, "Requests were cut off at the end")
		return server.Close()
	}
	return nil
}

// ready says why the API server should not be sent here. A configuration that was never
// good is a reason: the replicas that still have a good one go on, and a rollout waits.
func (s *service) ready() error {
	switch {
	case !s.serving.Load():
		return errors.New("admission is not served")
	case !s.quota.Synced() || !s.prices.Synced():
		return errors.New("the configuration was not read yet")
	case !s.ledgers.Synced():
		return errors.New("the quota ledgers were not read yet")
	case s.quota.Hash() == "" && s.quota.Err() != nil:
		return fmt.Errorf("there is no quota configuration to go by: %w", s.quota.Err())
	default:
		return s.trust.check()
	}
}

// serveHTTP serves metrics and probes.
func (s *service) serveHTTP(ctx context.Context) error {
	return probes.Serve(ctx, s.options.HTTPAddress, probes.Handler(s.registry, s.ready), s.background)
}
