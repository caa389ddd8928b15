package app

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/labels"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/telemetry/health"
	"wastenot.dev/telemetry/idle"
	"wastenot.dev/telemetry/source/dcgm"
)

// Options are the flags of the telemetry service.
type Options struct {
	// Namespace is where the service runs and keeps its certificate.
	Namespace string
	// GRPCAddress serves the fleet, HTTPAddress metrics and probes.
	GRPCAddress, HTTPAddress string
	// ExporterSelectors choose the exporters' pods; a pod that matches any counts.
	ExporterSelectors []string
	// Targets are exporters beside the discovered ones, as URL or NODE=URL.
	Targets []string
	Scrape  dcgm.Config
	// HealthPolicyFile holds health.yaml; empty means the defaults.
	HealthPolicyFile string
	IdleWindow       time.Duration
	// NodeLabels are the labels of nodes that are attached to their devices.
	NodeLabels []string
	// Watchers are the users that may watch the fleet.
	Watchers []string
	// TLSCertFile and TLSKeyFile replace the certificate that the service keeps itself.
	TLSCertFile, TLSKeyFile string
	// DNSNames are what the kept certificate covers.
	DNSNames []string
}

// NewOptions returns the defaults.
func NewOptions() *Options {
	namespace := os.Getenv("POD_NAMESPACE")
	if namespace == "" {
		namespace = v1alpha1.SystemNamespace
	}
	account := func(name string) string { return "system:serviceaccount:" + namespace + ":" + name }
	return &Options{
		Namespace: namespace, GRPCAddress: ":9443", HTTPAddress: ":8080",
		ExporterSelectors: []string{"app.kubernetes.io/name=dcgm-exporter", "app=nvidia-dcgm-exporter"},
		Scrape:            dcgm.Config{}.WithDefaults(), IdleWindow: idle.DefaultWindow,
		Watchers: []string{account("wastenot-scheduler"), account("wastenot-webhook")},
		DNSNames: []string{"wastenot-telemetry." + namespace + ".svc", "wastenot-telemetry." + namespace + ".svc.cluster.local"},
	}
}

// AddFlags registers the flags.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.Namespace, "namespace", o.Namespace, "namespace in which the service keeps its certificate")
	flags.StringVar(&o.GRPCAddress, "grpc-address", o.GRPCAddress, "address on which the fleet is served over gRPC and TLS")
	flags.StringVar(&o.HTTPAddress, "http-address", o.HTTPAddress, "address for /metrics, /livez and /readyz")
	flags.StringArrayVar(&o.ExporterSelectors, "exporter-selector", o.ExporterSelectors, "label selector of dcgm-exporter pods; may be given several times, a pod that matches any is read")
	flags.StringArrayVar(&o.Targets, "target", o.Targets, "a dcgm-exporter endpoint outside the cluster's pods, as URL or NODE=URL; may be given several times")
	flags.DurationVar(&o.Scrape.Interval, "scrape-interval", o.Scrape.Interval, "how often each exporter is read")
	flags.DurationVar(&o.Scrape.Timeout, "scrape-timeout", 0, "how long one read may take (default the lesser of the interval and 10s)")
	flags.DurationVar(&o.Scrape.SourceInterval, "source-interval", o.Scrape.SourceInterval, "how often exporters collect (their --collect-interval)")
	flags.Int64Var(&o.Scrape.MaxBodyBytes, "scrape-max-bytes", o.Scrape.MaxBodyBytes, "largest exposition that is read")
	flags.StringVar(&o.HealthPolicyFile, "health-policy", o.HealthPolicyFile, "file with health.yaml; what it leaves out keeps its default")
	flags.DurationVar(&o.IdleWindow, "idle-window", o.IdleWindow, "how long a held device must be quiet to count as idle")
	flags.StringSliceVar(&o.NodeLabels, "node-labels", o.NodeLabels, "labels of nodes to attach to their devices")
	flags.StringSliceVar(&o.Watchers, "watchers", o.Watchers, "users that may watch the fleet")
	flags.StringVar(&o.TLSCertFile, "tls-cert-file", o.TLSCertFile, "serving certificate, for example from cert-manager; without it the service keeps its own")
	flags.StringVar(&o.TLSKeyFile, "tls-private-key-file", o.TLSKeyFile, "key of --tls-cert-file")
	flags.StringSliceVar(&o.DNSNames, "tls-dns-names", o.DNSNames, "names that the service's own certificate covers")
}

// config is what the options come to once they are validated.
type config struct {
	policy    *health.Policy
	targets   []dcgm.Target
	selectors []labels.Selector
}

// complete validates everything and reads what the options name. It reports every
// fault at once and changes nothing.
func (o *Options) complete() (*config, error) {
	var errs []error
	c := &config{}
	var err error
	if c.policy, err = o.readPolicy(); err != nil {
		errs = append(errs, fmt.Errorf("--health-policy: %w", err))
	}
	if c.targets, err = dcgm.ParseTargets(o.Targets); err != nil {
		errs = append(errs, fmt.Errorf("--target: %w", err))
	}
	for _, text := range o.ExporterSelectors {
		selector, err := labels.Parse(text)
		if err != nil {
			errs = append(errs, fmt.Errorf("--exporter-selector %q: %w", text, err))
			continue
		}
		if selector.Empty() {
			errs = append(errs, fmt.Errorf("--exporter-selector %q: it selects every pod", text))
			continue
		}
		c.selectors = append(c.selectors, selector)
	}
	if o.Scrape.Timeout == 0 {
		o.Scrape.Timeout = min(o.Scrape.Interval, dcgm.DefaultMaxTimeout)
	}
	if err := o.Scrape.Validate(); err != nil {
		errs = append(errs, fmt.Errorf("scraping flags: %w", err))
	}
	if o.IdleWindow <= 0 {
		errs = append(errs, errors.New("--idle-window: must be positive, such as 30m"))
	}
	if (o.TLSCertFile == "") != (o.TLSKeyFile == "") {
		errs = append(errs, errors.New("--tls-cert-file and --tls-private-key-file: give both or none"))
	}
	if o.TLSCertFile == "" && len(o.DNSNames) == 0 {
		errs = append(errs, errors.New("--tls-dns-names: at least one name is needed"))
	}
	if len(o.Watchers) == 0 {
		errs = append(errs, errors.New("--watchers: nobody could watch the fleet"))
	}
	return c, errors.Join(errs...)
}

func (o *Options) readPolicy() (*health.Policy, error) {
	if o.HealthPolicyFile == "" {
		return health.DefaultPolicy()
	}
	text, err := os.ReadFile(o.HealthPolicyFile)
	if err != nil {
		return nil, err
	}
	return health.ParsePolicy(text)
}
