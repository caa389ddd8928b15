package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// handler answers for metrics and probes.
func (s *service) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !s.ready.Load() {
			answer(w, http.StatusServiceUnavailable, "the fleet is not served yet")
			return
		}
		answer(w, http.StatusOK, "ok")
	})
	return mux
}

// serveHTTP serves metrics and probes.
func (s *service) serveHTTP(ctx context.Context) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.options.HTTPAddress)
	if err != nil {
		return fmt.Errorf("listening for metrics and probes: %w", err)
	}
	server := &http.Server{Handler: s.handler(), ReadHeaderTimeout: 5 * time.Second}
	s.background("HTTP server", func() error {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	s.background("HTTP server", func() error { <-ctx.Done(); return server.Close() })
	return nil
}

func answer(w http.ResponseWriter, code int, text string) {
	w.WriteHeader(code)
	_, _ = w.Write([]byte(text + "\n")) // A prober that left does not matter.
}
