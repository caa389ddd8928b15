package app

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/internal/liveconfig"
	"wastenot.dev/pricing"
	"wastenot.dev/quota"
	"wastenot.dev/quota/reconcile"
	"wastenot.dev/quota/reserve"
	"wastenot.dev/quota/store"
	"wastenot.dev/webhook/candidate"
	"wastenot.dev/webhook/serve"
)

// userAgent names the webhook in audit logs.
const userAgent = "wastenot-webhook"

// service holds what Run wires together.
type service struct {
	options  *Options
	clock    clock.WithTicker
	client   kubernetes.Interface
	metadata metadata.Interface
	ledgers  *store.Store
	quota    *liveconfig.Value[*quota.Config]
	prices   *liveconfig.Value[*pricing.Book]
	objects  *objects
	registry *prometheus.Registry
	reporter *reporter
	keeper   *reconcile.Controller
	desk     *reserve.Desk
	trust    *trust

	// serving tells that admission is being served, leading that this replica keeps the
	// ledgers.
	serving, leading atomic.Bool

	group  sync.WaitGroup
	cancel context.CancelCauseFunc
}

// Run serves until parent ends or a part of it fails, and returns after all of it
// ended. The end of parent is no error.
func Run(parent context.Context, options *Options, config *rest.Config) error {
	if err := options.Validate(); err != nil {
		return err
	}
	config = rest.CopyConfig(config)
	rest.AddUserAgent(config, userAgent)
	// A burst of pods must not wait for the client's own limit, which is 5 a second.
	config.QPS, config.Burst = 200, 400
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("building a client: %w", err)
	}
	dynamicClient, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("building a client for ledgers: %w", err)
	}
	metadataClient, err := metadata.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("building a client for metadata: %w", err)
	}
	s := newService(parent, options, client, dynamicClient, metadataClient)
	return s.supervise(parent, s.run)
}

// newService builds all parts. Nothing runs yet. Claims that a count of pods does not find
// in the cache are asked for until ctx ends.
func newService(ctx context.Context, options *Options, client kubernetes.Interface, dynamicClient dynamic.Interface, metadataClient metadata.Interface) *service {
	s := &service{
		options: options, clock: clock.RealClock{}, client: client, metadata: metadataClient,
		ledgers:  store.New(dynamicClient),
		quota:    liveconfig.New(client, options.Namespace, v1alpha1.QuotaConfigMap, v1alpha1.QuotaKey, quota.Parse, (*quota.Config)(nil)),
		prices:   liveconfig.New(client, options.Namespace, v1alpha1.PricesConfigMap, v1alpha1.PricesKey, pricing.Parse, pricing.Default()),
		registry: prometheus.NewRegistry(),
	}
	s.objects = newObjects(client)
	s.reporter = newReporter(client, s.registry)
	s.keeper = reconcile.New(client, s.ledgers, s.quota.Current, s.objects.Claims(ctx), s.clock)
	s.keeper.Serve(options.served())
	s.desk = reserve.New(s.ledgers, s.keeper, s.clock, rand.Float64)
	s.trust = &trust{client: client, options: options, clock: s.clock}
	s.quota.OnChange(func(_, _ *quota.Config) { s.keeper.ConfigChanged() })
	s.quota.OnError(s.reporter.configRejected)
	s.prices.OnError(s.reporter.configRejected)
	s.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), &collector{s})
	return s
}

// handlers are the paths that the API server calls.
func (s *service) handlers() map[string]http.Handler {
	pods := &serve.Pods{
		Objects: s.objects, Config: s.quota.Current, Ledgers: s.desk,
		Prices: &estimator{finder: candidate.NewFinder(s.objects), prices: s.prices, clock: s.clock},
		Exempt: s.options.exemptions(), Scheduler: s.options.SchedulerName, Served: s.options.served(), Report: s.reporter.report, Clock: s.clock,
	}
	configs := &serve.Configs{Namespace: s.options.Namespace, Checks: map[string]serve.Check{
		v1alpha1.QuotaConfigMap:  {Key: v1alpha1.QuotaKey, Parse: func(text []byte) error { _, err := quota.Parse(text); return err }},
		v1alpha1.PricesConfigMap: {Key: v1alpha1.PricesKey, Parse: func(text []byte) error { _, err := pricing.Parse(text); return err }},
	}}
	return serve.Handlers(pods, configs, s.reporter.unjudged)
}

// supervise runs the service in a context that also ends when a part of it fails,
// and waits for all parts.
func (s *service) supervise(parent context.Context, run func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(parent)
	s.cancel = cancel
	err := run(ctx)
	if ctx.Err() != nil {
		// What ended the service; an error of run only follows from it.
		err = context.Cause(ctx)
	}
	cancel(nil)
	s.group.Wait()
	if parent.Err() != nil && errors.Is(err, context.Cause(parent)) {
		return nil
	}
	return err
}

// run starts everything in order and waits for the end.
func (s *service) run(ctx context.Context) error {
	logger := klog.FromContext(ctx)
	if err := s.serveHTTP(ctx); err != nil {
		return err
	}
	s.background("events", func() error { return s.reporter.run(ctx) })
	s.background("quota configuration", func() error { return s.quota.Run(ctx) })
	s.background("price book", func() error { return s.prices.Run(ctx) })
	s.background("ledgers", func() error { return s.ledgers.Run(ctx) })
	if err := s.startObjects(ctx); err != nil {
		return err
	}
	if err := s.startTrust(ctx); err != nil {
		return err
	}
	if err := s.serveAdmission(ctx); err != nil {
		return err
	}
	s.startLeading(ctx)
	logger.Info("Admission is served", "address", s.options.WebhookAddress, "http", s.options.HTTPAddress)
	<-ctx.Done()
	return nil
}

// background runs a part of the service; the end of a part by error ends the whole.
func (s *service) background(name string, run func() error) {
	s.group.Go(func() {
		if err := run(); err != nil {
			s.cancel(fmt.Errorf("running the %s: %w", name, err))
		}
	})
}
