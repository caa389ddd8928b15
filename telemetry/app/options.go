package app

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/labels"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/telemetry/health"
	"wastenot.dev/telemetry/idle"
	"wastenot.dev/telemetry/mix"
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
	// ExporterNamespaces are those in which such a pod is believed. Whoever may run
	// pods there can have any device quarantined.
	ExporterNamespaces []string
	// Targets are exporters beside the discovered ones, as URL or NODE=URL.
	Targets []string
	// Scrape says how exporters are read; a timeout of 0 is the lesser of the interval
	// and 10 s.
	Scrape dcgm.Config
	// HealthPolicyFile holds health.yaml; empty means the defaults.
	HealthPolicyFile string
	// MixPolicyFile holds mix.yaml; empty means the defaults.
	MixPolicyFile string
	IdleWindow    time.Duration
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
		ExporterSelectors:  []string{"app.kubernetes.io/name=dcgm-exporter", "app=nvidia-dcgm-exporter"},
		ExporterNamespaces: []string{"gpu-operator", "nvidia-gpu-operator", "monitoring", "kube-system"},
		Scrape: dcgm.Config{
			SourceInterval: dcgm.DefaultSourceInterval, Interval: dcgm.DefaultInterval, MaxBodyBytes: dcgm.DefaultMaxBodyBytes,
		},
		IdleWindow: idle.DefaultWindow,
		Watchers:   []string{account("wastenot-scheduler"), account("wastenot-webhook")},
		DNSNames:   []string{"wastenot-telemetry." + namespace + ".svc", "wastenot-telemetry." + namespace + ".svc.cluster.local"},
	}
}

// AddFlags registers the flags.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.Namespace, "namespace", o.Namespace, "namespace in which the service keeps its certificate")
	flags.StringVar(&o.GRPCAddress, "grpc-address", o.GRPCAddress, "address on which the fleet is served over gRPC and TLS")
	flags.StringVar(&o.HTTPAddress, "http-address", o.HTTPAddress, "address for /metrics, /livez and /readyz")
	flags.StringArrayVar(&o.ExporterSelectors, "exporter-selector", o.ExporterSelectors, "label selector of dcgm-exporter pods; may be given several times, a pod that matches any is read")
	flags.StringSliceVar(&o.ExporterNamespaces, "exporter-namespaces", o.ExporterNamespaces, "namespaces whose exporter pods are believed; whoever may run pods there can have any device quarantined")
	flags.StringArrayVar(&o.Targets, "target", o.Targets, "a dcgm-exporter endpoint outside the cluster's pods, as URL or NODE=URL; may be given several times")
	flags.DurationVar(&o.Scrape.Interval, "scrape-interval", o.Scrape.Interval, "how often each exporter is read")
	flags.DurationVar(&o.Scrape.Timeout, "scrape-timeout", o.Scrape.Timeout, "how long one read may take (default the lesser of the interval and 10s)")
	flags.DurationVar(&o.Scrape.SourceInterval, "source-interval", o.Scrape.SourceInterval, "how often exporters collect (their --collect-interval)")
	flags.Int64Var(&o.Scrape.MaxBodyBytes, "scrape-max-bytes", o.Scrape.MaxBodyBytes, "largest exposition that is read")
	flags.StringVar(&o.HealthPolicyFile, "health-policy", o.HealthPolicyFile, "file with health.yaml; what it leaves out keeps its default")
	flags.StringVar(&o.MixPolicyFile, "mix-policy", o.MixPolicyFile, "file with mix.yaml: how the mix of requests is learnt; what it leaves out keeps its default")
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
	mix       *mix.Policy
	targets   []dcgm.Target
	selectors []labels.Selector
	// namespaces are those of the exporters.
	namespaces []string
	scrape     dcgm.Config
}

// Validate reports every fault of the flags and of the files that they name.
func (o *Options) Validate() error {
	_, err := o.complete()
	return err
}

// complete validates everything and reads what the options name. It reports every
// fault at once, each with its flag, and changes nothing.
func (o *Options) complete() (*config, error) {
	c := &config{scrape: o.Scrape.WithDefaults(), namespaces: o.ExporterNamespaces}
	var errs []error
	var err error
	if c.policy, err = o.readPolicy(); err != nil {
		errs = append(errs, fmt.Errorf("--health-policy: %w", err))
	}
	if c.mix, err = o.readMixPolicy(); err != nil {
		errs = append(errs, fmt.Errorf("--mix-policy: %w", err))
	}
	if c.targets, err = dcgm.ParseTargets(o.Targets); err != nil {
		errs = append(errs, fmt.Errorf("--target: %w", err))
	}
	for _, text := range o.ExporterSelectors {
		selector, err := parseSelector(text)
		if err != nil {
			errs = append(errs, fmt.Errorf("--exporter-selector %q: %w", text, err))
			continue
		}
		c.selectors = append(c.selectors, selector)
	}
	errs = append(errs, o.checkScraping()...)
	errs = append(errs, o.checkServing()...)
	if o.IdleWindow <= 0 {
		errs = append(errs, errors.New("--idle-window: must be positive, such as 30m"))
	}
	for _, label := range o.NodeLabels {
		for _, fault := range content.IsLabelKey(label) {
			errs = append(errs, fmt.Errorf("--node-labels: %q is no label: %s", label, fault))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return c, nil
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

func (o *Options) readMixPolicy() (*mix.Policy, error) {
	if o.MixPolicyFile == "" {
		return mix.DefaultPolicy(), nil
	}
	text, err := os.ReadFile(o.MixPolicyFile)
	if err != nil {
		return nil, err
	}
	return mix.ParsePolicy(text)
}

func parseSelector(text string) (labels.Selector, error) {
	selector, err := labels.Parse(text)
	if err != nil {
		return nil, err
	}
	if selector.Empty() {
		return nil, errors.New("it selects every pod")
	}
	return selector, nil
}

func (o *Options) checkScraping() []error {
	var errs []error
	for _, setting := range []struct {
		flag  string
		value int64
	}{
		{"--scrape-interval", int64(o.Scrape.Interval)},
		{"--source-interval", int64(o.Scrape.SourceInterval)},
		{"--scrape-max-bytes", o.Scrape.MaxBodyBytes},
	} {
		if setting.value <= 0 {
			errs = append(errs, fmt.Errorf("%s: must be positive", setting.flag))
		}
	}
	if o.Scrape.Timeout < 0 || o.Scrape.Timeout > o.Scrape.Interval {
		errs = append(errs, fmt.Errorf("--scrape-timeout: %s is not between 0 and --scrape-interval (%s)", o.Scrape.Timeout, o.Scrape.Interval))
	}
	return errs
}

func (o *Options) checkServing() []error {
	var errs []error
	for _, address := range []struct{ flag, value string }{{"--grpc-address", o.GRPCAddress}, {"--http-address", o.HTTPAddress}} {
		if _, _, err := net.SplitHostPort(address.value); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", address.flag, err))
		}
	}
	if o.Namespace == "" {
		errs = append(errs, errors.New("--namespace: must be given"))
	}
	if len(o.Watchers) == 0 {
		errs = append(errs, errors.New("--watchers: nobody could watch the fleet"))
	}
	switch {
	case (o.TLSCertFile == "") != (o.TLSKeyFile == ""):
		errs = append(errs, errors.New("--tls-cert-file and --tls-private-key-file: give both or none"))
	case o.TLSCertFile != "":
		if _, err := tls.LoadX509KeyPair(o.TLSCertFile, o.TLSKeyFile); err != nil {
			errs = append(errs, fmt.Errorf("--tls-cert-file, --tls-private-key-file: %w", err))
		}
	case len(o.DNSNames) == 0:
		errs = append(errs, errors.New("--tls-dns-names: at least one name is needed"))
	}
	return errs
}
