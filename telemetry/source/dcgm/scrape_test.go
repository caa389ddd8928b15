package dcgm

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"
)

const oneGPU = "DCGM_FI_DEV_GPU_TEMP{gpu=\"0\",UUID=\"GPU-a\",Hostname=\"exporter-pod\"} 40\n"

func serve(t *testing.T, handler http.HandlerFunc) Target {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return Target{URL: server.URL + "/metrics", Node: "node-1"}
}

func text(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_, _ = io.WriteString(w, body)
	}
}

func newScraper(t *testing.T, config Config) *Scraper {
	t.Helper()
	scraper, err := NewScraper(config, nil, clocktesting.NewFakePassiveClock(fetchedAt))
	if err != nil {
		t.Fatal(err)
	}
	return scraper
}

func TestScrapeGivesTheBatchOfAnEndpoint(t *testing.T) {
	var accept string
	target := serve(t, func(w http.ResponseWriter, r *http.Request) {
		accept = r.Header.Get("Accept")
		text(oneGPU)(w, r)
	})
	batch, err := newScraper(t, Config{SourceInterval: 30 * time.Second, Interval: 10 * time.Second}).Scrape(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	if batch.Source != "dcgm" || batch.Endpoint != target.URL || batch.Node != "node-1" {
		t.Errorf("source %q, endpoint %q, node %q; want dcgm, %q, node-1", batch.Source, batch.Endpoint, batch.Node, target.URL)
	}
	if !batch.ObservedAt.Equal(fetchedAt) || !batch.AgeIsLowerBound || batch.Budget != 2*time.Minute {
		t.Errorf("observed %v, lower bound %v, budget %v; want %v, true, 2m", batch.ObservedAt, batch.AgeIsLowerBound, batch.Budget, fetchedAt)
	}
	if diff := cmp.Diff(map[string]string{"GPU-a": "40"}, temps(batch)); diff != "" {
		t.Errorf("temperatures differ (-want +got):\n%s", diff)
	}
	if !strings.HasPrefix(accept, "text/plain;version=0.0.4") {
		t.Errorf("Accept = %q, want the text format first", accept)
	}
}

func TestScrapeOfAnEmptyBodyIsABatchThatSaysSo(t *testing.T) {
	batch, err := newScraper(t, Config{}).Scrape(t.Context(), serve(t, text("")))
	if err != nil || len(batch.Problems) != 1 || batch.Problems[0].Where != "inventory" {
		t.Errorf("err %v, problems %q; want the missing inventory", err, whys(batch))
	}
}

func TestScrapeRefuses(t *testing.T) {
	tests := map[string]struct {
		handler http.HandlerFunc
		want    error
		message string
	}{
		"a body over the limit": {
			text(strings.Repeat(oneGPU, 100)), ErrBodyTooLarge, "limit of 1000 bytes",
		},
		"a body over the limit of unknown length": {
			func(w http.ResponseWriter, r *http.Request) {
				for range 100 {
					text(oneGPU)(w, r)
					_ = http.NewResponseController(w).Flush()
				}
			}, ErrBodyTooLarge, "limit of 1000 bytes",
		},
		"a gzip bomb": {
			func(w http.ResponseWriter, r *http.Request) {
				if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
					http.Error(w, "no gzip asked for", http.StatusTeapot)
					return
				}
				w.Header().Set("Content-Type", "text/plain")
				w.Header().Set("Content-Encoding", "gzip")
				_, _ = w.Write(bomb())
			}, ErrBodyTooLarge, "limit of 1000 bytes",
		},
		"a redirect to another host": {
			func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, "http://kubernetes.default.svc/api", http.StatusFound)
			}, ErrRedirected, "to http://kubernetes.default.svc/api",
		},
		"a redirect in a circle": {
			func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/metrics", http.StatusFound) },
			ErrRedirected, "more than 3",
		},
		"an error page": {
			func(w http.ResponseWriter, _ *http.Request) { http.Error(w, oneGPU, http.StatusServiceUnavailable) },
			ErrStatus, "503",
		},
		"a web page": {
			func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/html; charset=utf-8")
				_, _ = io.WriteString(w, "<html>")
			}, ErrNotExposition, "text/html",
		},
		"protobuf": {
			func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily")
			}, ErrNotExposition, "protobuf",
		},
		"an encoding that was not asked for": {
			func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Encoding", "br")
				text("x")(w, r)
			}, ErrNotExposition, `content encoding "br"`,
		},
		"an answer that breaks off": {
			func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Length", "500")
				text(oneGPU)(w, r)
			}, io.ErrUnexpectedEOF, "unexpected EOF",
		},
	}
	for label, test := range tests {
		t.Run(label, func(t *testing.T) {
			target := serve(t, test.handler)
			batch, err := newScraper(t, Config{MaxBodyBytes: 1000}).Scrape(t.Context(), target)
			if !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.message) {
				t.Errorf("error = %v, want %v with %q", err, test.want, test.message)
			}
			if err != nil && strings.Count(err.Error(), target.URL) > 1 {
				t.Errorf("the error repeats the endpoint: %v", err)
			}
			if len(batch.Devices) != 0 {
				t.Errorf("something of a refused answer is used: %+v", batch.Devices)
			}
		})
	}
}

// bomb is a few kilobytes that unpack to 2 MiB.
func bomb() []byte {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	for range 1 << 7 {
		_, _ = w.Write(make([]byte, 16<<10))
	}
	_ = w.Close()
	return packed.Bytes()
}

func TestScrapeFollowsARedirectOnTheSameHost(t *testing.T) {
	target := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/metrics" {
			http.Redirect(w, r, "/metrics/", http.StatusMovedPermanently)
			return
		}
		text(oneGPU)(w, r)
	})
	batch, err := newScraper(t, Config{}).Scrape(t.Context(), target)
	if err != nil || len(batch.Devices) != 1 {
		t.Errorf("err %v, devices %v; want one device", err, batch.Devices)
	}
}

func TestScrapeGivesUpOnAnEndpointThatHangs(t *testing.T) {
	for label, begin := range map[string]string{"before its answer": "", "inside its answer": oneGPU} {
		t.Run(label, func(t *testing.T) {
			target := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if begin != "" {
					text(begin)(w, r)
					_ = http.NewResponseController(w).Flush()
				}
				<-r.Context().Done()
			})
			_, err := newScraper(t, Config{Timeout: 30 * time.Millisecond}).Scrape(t.Context(), target)
			if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "no complete answer within 30ms") {
				t.Errorf("error = %v, want our deadline by name", err)
			}
		})
	}
}

func TestScrapeEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	target := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	})
	if _, err := newScraper(t, Config{}).Scrape(ctx, target); !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want context.Canceled", err)
	}
}

// lastByte is a transport whose answer calls done when it has been read and closed.
type lastByte struct{ done func() }

func (l lastByte) RoundTrip(request *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: l, ContentLength: -1, Request: request}, nil
}
func (lastByte) Read([]byte) (int, error) { return 0, io.EOF }
func (l lastByte) Close() error           { l.done(); return nil }

func TestScrapeWaitsForAPlaceOnlyAsLongAsItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	scraper, err := NewScraper(Config{Parallel: 1}, lastByte{done: cancel}, clocktesting.NewFakePassiveClock(fetchedAt))
	if err != nil {
		t.Fatal(err)
	}
	scraper.places <- struct{}{} // somebody else reads an answer
	_, err = scraper.Scrape(ctx, Target{URL: "http://exporter/metrics"})
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "waiting to read the answer") {
		t.Errorf("error = %v, want context.Canceled while waiting", err)
	}
}

func TestScrapeReusesItsConnection(t *testing.T) {
	peers := map[string]bool{}
	target := serve(t, func(w http.ResponseWriter, r *http.Request) {
		peers[r.RemoteAddr] = true
		text(oneGPU)(w, r)
	})
	scraper := newScraper(t, Config{})
	for range 3 {
		if _, err := scraper.Scrape(t.Context(), target); err != nil {
			t.Fatal(err)
		}
	}
	if len(peers) != 1 {
		t.Errorf("%d connections for 3 reads, want 1", len(peers))
	}
}

func TestErrorsNameTheEndpointOnce(t *testing.T) {
	const nobody = "http://127.0.0.1:1/metrics"
	_, err := newScraper(t, Config{}).Scrape(t.Context(), Target{URL: nobody})
	if err == nil || strings.Count(err.Error(), nobody) != 1 {
		t.Errorf("error = %v, want one that names the endpoint once", err)
	}
}

func TestErrorsDoNotShowPasswords(t *testing.T) {
	_, err := newScraper(t, Config{}).Scrape(t.Context(), Target{URL: "http://user:secret@127.0.0.1:1/metrics"})
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("error = %v, want one without the password", err)
	}
}

func TestConfig(t *testing.T) {
	tests := map[string]struct {
		config     Config
		wantFaults []string
		wantBudget time.Duration
	}{
		"defaults":             {Config{}, nil, 2 * time.Minute},
		"fast demo":            {Config{SourceInterval: time.Second, Interval: time.Second}, nil, 30 * time.Second},
		"slow exporter":        {Config{SourceInterval: time.Minute, Interval: 30 * time.Second}, nil, 270 * time.Second},
		"timeout too long":     {Config{Interval: time.Second, Timeout: 2 * time.Second}, []string{"timeout: 2s is longer than the interval of 1s"}, 93 * time.Second},
		"everything negative":  {Config{-1, -1, -1, -1, -1}, []string{"sourceInterval: must", "interval: must", "timeout: must", "maxBodyBytes: must", "parallel: must"}, 30 * time.Second},
		"one of them negative": {Config{MaxBodyBytes: -1}, []string{"maxBodyBytes: must not be negative"}, 2 * time.Minute},
	}
	for label, test := range tests {
		t.Run(label, func(t *testing.T) {
			if got := test.config.Budget(); got != test.wantBudget {
				t.Errorf("budget = %v, want %v", got, test.wantBudget)
			}
			_, err := NewScraper(test.config, nil, clocktesting.NewFakePassiveClock(fetchedAt))
			if (err != nil) != (len(test.wantFaults) > 0) {
				t.Fatalf("error = %v, want faults %q", err, test.wantFaults)
			}
			for _, want := range test.wantFaults {
				if !strings.Contains(fmt.Sprint(err), want) {
					t.Errorf("error = %v, want it to name %q", err, want)
				}
			}
		})
	}
	if got := (Config{Interval: 3 * time.Second}).WithDefaults().Timeout; got != 3*time.Second {
		t.Errorf("default timeout = %v, want the interval of 3s", got)
	}
	if got := (Config{Interval: time.Minute}).WithDefaults().Timeout; got != 10*time.Second {
		t.Errorf("default timeout = %v, want 10s", got)
	}
}
