package app

import (
	"context"
	"errors"
	"net/http"

	"wastenot.dev/internal/probes"
)

// handler answers for metrics and probes.
func (s *service) handler() http.Handler {
	return probes.Handler(s.registry, func() error {
		if !s.ready.Load() {
			return errors.New("the fleet is not served yet")
		}
		return nil
	})
}

// serveHTTP serves metrics and probes.
func (s *service) serveHTTP(ctx context.Context) error {
	return probes.Serve(ctx, s.options.HTTPAddress, s.handler(), s.background)
}
