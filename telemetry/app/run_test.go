package app

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
)

// local is a service on free ports of its own.
func local(t *testing.T) *Options {
	t.Helper()
	options := NewOptions()
	options.GRPCAddress, options.HTTPAddress = "127.0.0.1:0", "127.0.0.1:0"
	return options
}

// deaf is an API server that accepts requests and never answers; asked is told of each.
func deaf(t *testing.T) (config *rest.Config, asked <-chan string) {
	t.Helper()
	requests := make(chan string, 64)
	over := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
		select {
		case requests <- request.URL.Path:
		default:
		}
		select {
		case <-request.Context().Done():
		case <-over:
		}
	}))
	t.Cleanup(func() { close(over); server.Close() })
	return &rest.Config{Host: server.URL}, requests
}

func TestRunRefusesBadOptionsBeforeItDoesAnything(t *testing.T) {
	t.Parallel()
	options := local(t)
	options.IdleWindow = 0
	options.HealthPolicyFile = write(t, "health.yaml", "throtle: {}")
	err := Run(t.Context(), options, &rest.Config{Host: "http://192.0.2.1"})
	for _, want := range []string{"--idle-window", "--health-policy", `"throtle"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not say %q", err, want)
		}
	}
}

// Being stopped is no error, whatever it was doing.
func TestRunEndsWithItsContext(t *testing.T) {
	t.Parallel()
	config, asked := deaf(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, local(t), config) }()
	<-asked
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("error %v", err)
	}
}

func TestRunNamesWhatItCannotHave(t *testing.T) {
	t.Parallel()
	taken, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	config, _ := deaf(t)
	options := local(t)
	options.HTTPAddress = taken.Addr().String()
	if err := Run(t.Context(), options, config); err == nil || !strings.Contains(err.Error(), "metrics and probes") {
		t.Errorf("error %v", err)
	}
}

func TestSupervise(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	untilTheEnd := func(ctx context.Context) error { <-ctx.Done(); return nil }
	for name, test := range map[string]struct {
		run  func(s *service, stop context.CancelFunc) func(context.Context) error
		want string
	}{
		"a part that fails ends the whole with its error": {
			run: func(s *service, _ context.CancelFunc) func(context.Context) error {
				return func(ctx context.Context) error {
					s.background("clock", func() error { return broken })
					return untilTheEnd(ctx)
				}
			},
			want: "running the clock: broken",
		},
		"what only follows from it is not told": {
			run: func(s *service, _ context.CancelFunc) func(context.Context) error {
				return func(ctx context.Context) error {
					s.background("clock", func() error { return broken })
					<-ctx.Done()
					return errors.New("the list was cut short")
				}
			},
			want: "running the clock: broken",
		},
		"a start that fails": {
			run: func(*service, context.CancelFunc) func(context.Context) error {
				return func(context.Context) error { return broken }
			},
			want: "broken",
		},
		"being stopped is no error": {
			run: func(_ *service, stop context.CancelFunc) func(context.Context) error {
				return func(ctx context.Context) error { stop(); return untilTheEnd(ctx) }
			},
		},
		"being stopped at the start is no error": {
			run: func(_ *service, stop context.CancelFunc) func(context.Context) error {
				return func(ctx context.Context) error { stop(); <-ctx.Done(); return errors.New("the list was cut short") }
			},
		},
		"nor are the errors of parts that were stopped": {
			run: func(s *service, stop context.CancelFunc) func(context.Context) error {
				return func(ctx context.Context) error {
					s.background("clock", func() error { <-ctx.Done(); return ctx.Err() })
					stop()
					return untilTheEnd(ctx)
				}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := newService(t)
			parent, stop := context.WithCancel(t.Context())
			defer stop()
			run, partEnded := test.run(s, stop), false
			err := s.supervise(parent, func(ctx context.Context) error {
				// A part that takes its time is waited for.
				s.background("slow part", func() error { <-ctx.Done(); runtime.Gosched(); partEnded = true; return nil })
				return run(ctx)
			})
			if got := text(err); got != test.want {
				t.Errorf("error %q, want %q", got, test.want)
			}
			if !partEnded {
				t.Error("a part outlived the service")
			}
		})
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
