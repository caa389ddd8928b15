package app

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	crcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	telemetryv1alpha1 "wastenot.dev/api/telemetry/v1alpha1"
	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/internal/servingcert"
	"wastenot.dev/telemetry/mix"
	"wastenot.dev/telemetry/quarantine"
	"wastenot.dev/telemetry/serve"
	"wastenot.dev/telemetry/source/dcgm"
	"wastenot.dev/telemetry/store"
)

// tickInterval is how often everything is judged again by the clock.
const tickInterval = time.Second

// service holds what Run wires together.
type service struct {
	options  *Options
	config   *config
	clock    clock.WithTicker
	client   kubernetes.Interface
	cluster  cluster.Cluster
	store    *store.Store
	registry *prometheus.Registry
	ready    atomic.Bool

	group  sync.WaitGroup
	cancel context.CancelCauseFunc
}

// Run serves until parent ends or a part of it fails, and returns after all of it
// ended. The end of parent is no error.
func Run(parent context.Context, options *Options, rest *rest.Config) error {
	config, err := options.complete()
	if err != nil {
		return err
	}
	s := &service{options: options, config: config, clock: clock.RealClock{}, registry: prometheus.NewRegistry()}
	if err := s.build(rest); err != nil {
		return err
	}
	return s.supervise(parent, s.run)
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

func (s *service) build(config *rest.Config) (err error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return fmt.Errorf("registering types: %w", err)
	}
	if s.client, err = kubernetes.NewForConfig(config); err != nil {
		return fmt.Errorf("building a client: %w", err)
	}
	if s.cluster, err = cluster.New(config, func(o *cluster.Options) {
		o.Scheme, o.MapperProvider = scheme, resources
		o.Cache.DefaultTransform = crcache.TransformStripManagedFields()
	}); err != nil {
		return fmt.Errorf("building the object cache: %w", err)
	}
	s.store = store.New(store.Options{
		Epoch: string(uuid.NewUUID()), Policy: s.config.policy, IdleWindow: s.options.IdleWindow, Clock: s.clock,
	})
	s.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		&collector{store: s.store, clock: s.clock})
	return nil
}

// resources maps the kinds that the service reads and writes. Asking the API server
// instead would be a call that no context ends.
func resources(*rest.Config, *http.Client) (meta.RESTMapper, error) {
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Node"), meta.RESTScopeRoot)
	mapper.Add(v1alpha1.GroupVersion.WithKind("Quarantine"), meta.RESTScopeRoot)
	return mapper, nil
}

// run starts everything in order and waits for the end.
func (s *service) run(ctx context.Context) error {
	logger := klog.FromContext(ctx)
	if err := s.serveHTTP(ctx); err != nil {
		return err
	}
	logger.Info("Reading nodes and quarantines; this waits for the CRD and for the rights to list them")
	s.background("object cache", func() error { return s.cluster.Start(ctx) })
	placed, err := followNodes(ctx, s.cluster.GetCache(), s.store, s.options.NodeLabels)
	if err != nil {
		return err
	}
	objects, err := s.watchQuarantines(ctx)
	if err != nil {
		return err
	}
	if err := s.seed(ctx, placed); err != nil {
		return err
	}
	s.background("clock", func() error { s.store.Run(ctx, tickInterval); return nil })
	if err := s.scrape(ctx, logger); err != nil {
		return err
	}
	controller := &quarantine.Controller{
		Client: s.cluster.GetClient(), Source: s.store, Objects: objects,
		Recorder: s.cluster.GetEventRecorder("wastenot-telemetry"), Clock: s.clock,
	}
	s.background("quarantine controller", func() error { return controller.Run(ctx) })
	if err := s.learnMix(ctx); err != nil {
		return err
	}
	if err := s.serveFleet(ctx); err != nil {
		return err
	}
	s.ready.Store(true)
	logger.Info("Telemetry is serving", "grpc", s.options.GRPCAddress, "http", s.options.HTTPAddress, "epoch", s.store.Snapshot().Epoch)
	<-ctx.Done()
	s.ready.Store(false)
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

// watchQuarantines returns a channel that tells of changed quarantines.
func (s *service) watchQuarantines(ctx context.Context) (<-chan struct{}, error) {
	informer, err := s.cluster.GetCache().GetInformer(ctx, &v1alpha1.Quarantine{})
	if err != nil {
		return nil, fmt.Errorf("watching quarantines: %w", err)
	}
	changed := make(chan struct{}, 1)
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { mark(changed) }, UpdateFunc: func(_, _ any) { mark(changed) }, DeleteFunc: func(any) { mark(changed) },
	})
	return changed, err
}

// seed starts from what the objects hold against devices, once every node is known.
func (s *service) seed(ctx context.Context, placed toolscache.InformerSynced) error {
	if !s.cluster.GetCache().WaitForCacheSync(ctx) || !toolscache.WaitForCacheSync(ctx.Done(), placed) {
		return errors.New("reading nodes and quarantines: the service was stopped first")
	}
	var list v1alpha1.QuarantineList
	if err := s.cluster.GetClient().List(ctx, &list, client.MatchingLabels{v1alpha1.LabelManagedBy: v1alpha1.ManagedByTelemetry}); err != nil {
		return fmt.Errorf("reading quarantines: %w", err)
	}
	for i := range list.Items {
		q := &list.Items[i]
		s.store.Seed(q.Spec.Node, q.Spec.UUID, q.Spec.Model, quarantine.Findings(q), q.Status.VendorExcludes)
	}
	return nil
}

// scrape starts to read exporters and waits until their pods are known.
func (s *service) scrape(ctx context.Context, logger klog.Logger) error {
	scraper, err := dcgm.NewScraper(s.config.scrape, dcgm.NewTransport(), s.clock)
	if err != nil {
		return fmt.Errorf("building the scraper: %w", err)
	}
	runner := dcgm.NewRunner(s.config.scrape, scraper.Scrape, newSink(s.store, logger, s.registry), s.clock, rand.Float64)
	discovery, err := newDiscovery(s.client, s.config, runner.SetTargets)
	if err != nil {
		return err
	}
	s.background("scraper", func() error { runner.Run(ctx); return nil })
	discovery.start(ctx)
	s.background("exporter discovery", func() error { discovery.run(ctx); return nil })
	return discovery.awaitPods(ctx)
}

// learnMix publishes what pods ask for, before anybody can watch, and follows them.
func (s *service) learnMix(ctx context.Context) error {
	follower, err := mix.NewFollower(s.client, s.config.mix, s.store.SetMix, s.clock)
	if err != nil {
		return err
	}
	if err := follower.Start(ctx); err != nil {
		return err
	}
	s.background("mix of requests", func() error { follower.Run(ctx); return nil })
	return nil
}

func (s *service) serveFleet(ctx context.Context) error {
	getCertificate, err := s.certificate(ctx)
	if err != nil {
		return err
	}
	gate := serve.NewGate(s.client.AuthenticationV1().TokenReviews(), v1alpha1.FleetAudience, s.options.Watchers, s.clock)
	server := grpc.NewServer(
		grpc.Creds(credentials.NewTLS(&tls.Config{MinVersion: tls.VersionTLS13, GetCertificate: getCertificate})),
		grpc.StreamInterceptor(gate.Stream),
		// A client whose machine died must not hold its stream for the hours that TCP allows.
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: 30 * time.Second, Timeout: 10 * time.Second}),
	)
	telemetryv1alpha1.RegisterFleetServer(server, serve.NewFleet(s.store, s.clock))
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.options.GRPCAddress)
	if err != nil {
		return fmt.Errorf("listening for the fleet service: %w", err)
	}
	s.background("fleet service", func() error { return server.Serve(listener) })
	s.background("fleet service", func() error { <-ctx.Done(); server.Stop(); return nil })
	return nil
}

// certificate returns what serves the certificate: the given files, or our own.
func (s *service) certificate(ctx context.Context) (func(*tls.ClientHelloInfo) (*tls.Certificate, error), error) {
	if s.options.TLSCertFile != "" {
		watcher, err := certwatcher.New(s.options.TLSCertFile, s.options.TLSKeyFile)
		if err != nil {
			return nil, fmt.Errorf("reading the serving certificate: %w", err)
		}
		s.background("certificate watcher", func() error { return watcher.Start(ctx) })
		return watcher.GetCertificate, nil
	}
	keeper := &servingcert.Keeper{
		Client: s.client, Namespace: s.options.Namespace, Name: "wastenot-telemetry", DNSNames: s.options.DNSNames, Clock: s.clock,
	}
	if err := keeper.Ensure(ctx); err != nil {
		return nil, err
	}
	s.background("certificate keeper", func() error { keeper.Run(ctx); return nil })
	return keeper.GetCertificate, nil
}
