package dcgm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"time"

	"k8s.io/utils/clock"

	"wastenot.dev/telemetry/sample"
)

// Errors of Scraper.Scrape that callers may want to tell apart. Connection faults
// and timeouts are the errors of package net and context.
var (
	// ErrBodyTooLarge: the answer is over Config.MaxBodyBytes. Nothing of it is
	// used: where it was cut, a device would look gone that is not.
	ErrBodyTooLarge = errors.New("answer is larger than the limit")
	// ErrRedirected: the endpoint pointed to another host, or round and round.
	ErrRedirected = errors.New("redirect refused")
	// ErrStatus: the endpoint answered with something other than 200.
	ErrStatus = errors.New("unexpected status")
	// ErrNotExposition: the answer is not in the Prometheus text format.
	ErrNotExposition = errors.New("answer is not Prometheus text")
)

// maxRedirects allows for "/metrics" to "/metrics/" and the like.
const maxRedirects = 3

// acceptText asks for the text format and not for OpenMetrics, whose times are in
// another unit.
const acceptText = "text/plain;version=0.0.4;q=1,text/plain;q=0.9,*/*;q=0.1"

// Scraper reads dcgm-exporter endpoints. It is safe for concurrent use, keeps
// connections open between reads, and has no goroutine of its own.
type Scraper struct {
	config Config
	client *http.Client
	clock  clock.PassiveClock
	places chan struct{}
}

// NewScraper makes a Scraper. transport may be nil for NewTransport's; give one to
// set certificates. The error is Config.Validate's.
func NewScraper(config Config, transport http.RoundTripper, clk clock.PassiveClock) (*Scraper, error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("configuring the dcgm source: %w", err)
	}
	if transport == nil {
		transport = NewTransport()
	}
	config = config.WithDefaults()
	return &Scraper{
		config: config,
		client: &http.Client{Transport: transport, CheckRedirect: checkRedirect},
		clock:  clk,
		places: make(chan struct{}, config.Parallel),
	}, nil
}

// NewTransport is a transport for many endpoints that are each asked every few
// seconds: one idle connection per endpoint, small header limit, and no proxy,
// since pod addresses are not reached through one.
func NewTransport() *http.Transport {
	return &http.Transport{
		DialContext:            (&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout:    5 * time.Second,
		MaxIdleConnsPerHost:    1,
		IdleConnTimeout:        90 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
	}
}

// Scrape reads one endpoint within Config.Timeout and gives its batch. The batch's
// time is that of asking, since the answer's readings were made before it was
// written. An error means that nothing was learnt; its devices then age.
func (s *Scraper) Scrape(ctx context.Context, target Target) (sample.Batch, error) {
	asked := s.clock.Now()
	body, err := s.fetch(ctx, target.URL)
	if err != nil {
		return sample.Batch{}, fmt.Errorf("scraping %s: %w", redacted(target.URL), err)
	}
	select {
	case s.places <- struct{}{}:
		defer func() { <-s.places }()
	case <-ctx.Done():
		return sample.Batch{}, fmt.Errorf("waiting to read the answer of %s: %w", redacted(target.URL), ctx.Err())
	}
	return Read(body, Origin{
		Endpoint:  redacted(target.URL),
		Node:      target.Node,
		FetchedAt: asked,
		Budget:    s.config.Budget(),
	}), nil
}

func (s *Scraper) fetch(ctx context.Context, endpoint string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, s.config.Timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, endpoint, http.NoBody)
	if err != nil {
		return nil, inner(err)
	}
	request.Header.Set("Accept", acceptText)
	request.Header.Set("User-Agent", "wastenot-telemetry")
	response, err := s.client.Do(request)
	if err != nil {
		return nil, s.explain(ctx, err)
	}
	defer func() { _ = response.Body.Close() }() // nothing is written, so nothing is lost
	if err := checkResponse(response); err != nil {
		return nil, err
	}
	body, err := s.readBody(response)
	if err != nil {
		return nil, s.explain(ctx, err)
	}
	return body, nil
}

// readBody reads at most one byte more than the limit. The transport asks for gzip
// and unpacks it as it is read, so the limit holds for what comes out.
func (s *Scraper) readBody(response *http.Response) ([]byte, error) {
	limit := s.config.MaxBodyBytes
	body, err := io.ReadAll(io.LimitReader(response.Body, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(body)) > limit {
		return nil, fmt.Errorf("%w of %d bytes", ErrBodyTooLarge, limit)
	}
	return body, nil
}

// explain names our own deadline, which otherwise reads as if the caller had one.
func (s *Scraper) explain(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("no complete answer within %s: %w", s.config.Timeout, ctx.Err())
	}
	return inner(err)
}

// inner takes off the client's wrapping, which repeats the URL.
func inner(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}

func checkResponse(response *http.Response) error {
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%w: %s", ErrStatus, clip(response.Status))
	}
	if encoding := response.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return fmt.Errorf("%w: content encoding %q was not asked for", ErrNotExposition, clip(encoding))
	}
	content := response.Header.Get("Content-Type")
	if content == "" {
		return nil
	}
	kind, _, err := mime.ParseMediaType(content)
	if err != nil || kind != "text/plain" && kind != "application/openmetrics-text" {
		return fmt.Errorf("%w: content type %q", ErrNotExposition, clip(content))
	}
	return nil
}

// checkRedirect follows redirects on the same host only: an endpoint must not be
// able to send the service's requests elsewhere in the cluster.
func checkRedirect(request *http.Request, via []*http.Request) error {
	first := via[0].URL
	if request.URL.Scheme != first.Scheme || request.URL.Host != first.Host {
		return fmt.Errorf("%w: to %s", ErrRedirected, request.URL.Redacted())
	}
	if len(via) >= maxRedirects {
		return fmt.Errorf("%w: more than %d", ErrRedirected, maxRedirects)
	}
	return nil
}

func redacted(endpoint string) string {
	parsed, err := url.Parse(endpoint)
	if err != nil {
		return "an endpoint that is no URL"
	}
	return parsed.Redacted()
}
