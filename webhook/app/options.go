package app

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/validate/content"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/webhook/decide"
)

// Options are the flags of the webhook.
type Options struct {
	// Namespace is where the webhook runs and finds its configuration.
	Namespace string
	// WebhookAddress serves admission over TLS, HTTPAddress metrics and probes.
	WebhookAddress, HTTPAddress string
	// ServiceName is the Service by which the API server finds the webhook, and
	// ConfigurationName that of both webhook configurations.
	ServiceName, ConfigurationName string
	// SchedulerName is stamped on accelerator pods that name no other scheduler; empty
	// leaves them.
	SchedulerName string
	// ServedSchedulers hold pods of teams that queue, beside SchedulerName.
	ServedSchedulers []string
	// ExemptUsers and ExemptGroups are let through.
	ExemptUsers, ExemptGroups []string
	// TLSCertFile and TLSKeyFile replace the certificate that the webhook keeps itself.
	// Whoever issues it then also writes caBundle.
	TLSCertFile, TLSKeyFile string
	// ClientCAFile holds the CAs of those who may ask for admission; empty lets anyone ask.
	ClientCAFile string
	// LeaderElection says how long a lead lasts.
	LeaderElection LeaderElection
}

// LeaderElection says how the replicas agree on who keeps the ledgers.
type LeaderElection struct {
	LeaseDuration, RenewDeadline, RetryPeriod time.Duration
}

// operatorNamespaces are those in which NVIDIA's GPU operator is installed: by its
// documentation, by OpenShift's, and by its older charts and MicroK8s.
var operatorNamespaces = []string{"gpu-operator", "nvidia-gpu-operator", "gpu-operator-resources"}

// NewOptions returns the defaults.
func NewOptions() *Options {
	namespace := os.Getenv("POD_NAMESPACE")
	if namespace == "" {
		namespace = v1alpha1.SystemNamespace
	}
	return &Options{
		Namespace: namespace, WebhookAddress: ":9443", HTTPAddress: ":8080",
		ServiceName: "wastenot-webhook", ConfigurationName: "wastenot-webhook", SchedulerName: v1alpha1.SchedulerName,
		ExemptUsers: defaultExemptUsers(namespace),
		// The mirrors of static pods, the only pods that a kubelet may create. They run
		// whether or not they are admitted; refused, they would only be unseen.
		ExemptGroups:   []string{"system:nodes"},
		LeaderElection: LeaderElection{LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second},
	}
}

// defaultExemptUsers are our own processes, the scheduler, and the validators of the
// GPU operator, which test every new node by a pod that names the node and asks for one
// GPU (github.com/NVIDIA/gpu-operator, validator/).
func defaultExemptUsers(namespace string) []string {
	account := func(namespace, name string) string { return "system:serviceaccount:" + namespace + ":" + name }
	users := []string{account(namespace, "wastenot-scheduler"), account(namespace, "wastenot-webhook"), "system:kube-scheduler"}
	for _, operator := range operatorNamespaces {
		users = append(users, account(operator, "nvidia-operator-validator"))
	}
	return users
}

// AddFlags registers the flags.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.Namespace, "namespace", o.Namespace, "namespace in which the webhook runs and finds its configuration")
	flags.StringVar(&o.WebhookAddress, "webhook-address", o.WebhookAddress, "address on which admission is served over TLS")
	flags.StringVar(&o.HTTPAddress, "http-address", o.HTTPAddress, "address for /metrics, /livez and /readyz")
	flags.StringVar(&o.ServiceName, "service-name", o.ServiceName, "Service by which the API server finds the webhook; its certificate must cover NAME.NAMESPACE.svc")
	flags.StringVar(&o.ConfigurationName, "configuration-name", o.ConfigurationName, "name of the MutatingWebhookConfiguration and of the ValidatingWebhookConfiguration")
	flags.StringVar(&o.SchedulerName, "scheduler-name", o.SchedulerName, "scheduler that is given the accelerator pods of default-scheduler; empty leaves them")
	flags.StringSliceVar(&o.ServedSchedulers, "served-schedulers", o.ServedSchedulers, "schedulers with the plugin TeamQuota, beside --scheduler-name (wastenot-scheduler where that is empty); a Queue team's pod waits only if one of them places it")
	flags.StringSliceVar(&o.ExemptUsers, "exempt-users", o.ExemptUsers, "users whose pods are neither stamped nor refused; what they hold counts against their namespace's team all the same")
	flags.StringSliceVar(&o.ExemptGroups, "exempt-groups", o.ExemptGroups, "groups that are exempt like --exempt-users")
	flags.StringVar(&o.TLSCertFile, "tls-cert-file", o.TLSCertFile, "serving certificate, for example from cert-manager, which then also writes caBundle; without it the webhook keeps its own")
	flags.StringVar(&o.TLSKeyFile, "tls-private-key-file", o.TLSKeyFile, "key of --tls-cert-file")
	flags.StringVar(&o.ClientCAFile, "client-ca-file", o.ClientCAFile, "CAs of those who may ask for admission, of whom a client certificate is then required; without it anyone who reaches --webhook-address may ask. It is read anew when it changes")
	flags.DurationVar(&o.LeaderElection.LeaseDuration, "leader-elect-lease-duration", o.LeaderElection.LeaseDuration, "how long a replica keeps the quota ledgers without renewing its lease")
	flags.DurationVar(&o.LeaderElection.RenewDeadline, "leader-elect-renew-deadline", o.LeaderElection.RenewDeadline, "how long the leader tries to renew its lease before it stops keeping the ledgers")
	flags.DurationVar(&o.LeaderElection.RetryPeriod, "leader-elect-retry-period", o.LeaderElection.RetryPeriod, "how long replicas wait between tries to get or renew the lease")
}

// Validate reports every fault of the flags and of the files that they name. It changes
// nothing.
func (o *Options) Validate() error {
	var errs []error
	for _, name := range []struct{ flag, value string }{
		{"--namespace", o.Namespace}, {"--service-name", o.ServiceName},
	} {
		for _, fault := range content.IsDNS1123Label(name.value) {
			errs = append(errs, fmt.Errorf("%s: %q: %s", name.flag, name.value, fault))
		}
	}
	errs = append(errs, o.checkNames()...)
	for _, address := range []struct{ flag, value string }{{"--webhook-address", o.WebhookAddress}, {"--http-address", o.HTTPAddress}} {
		if _, _, err := net.SplitHostPort(address.value); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", address.flag, err))
		}
	}
	errs = append(errs, o.checkExemptions()...)
	errs = append(errs, o.checkCertificate()...)
	errs = append(errs, o.LeaderElection.check()...)
	return errors.Join(errs...)
}

func (o *Options) checkNames() []error {
	type name struct{ flag, value string }
	names := []name{{"--configuration-name", o.ConfigurationName}}
	if o.SchedulerName != "" {
		names = append(names, name{"--scheduler-name", o.SchedulerName})
	}
	for _, scheduler := range o.ServedSchedulers {
		names = append(names, name{"--served-schedulers", scheduler})
	}
	var errs []error
	for _, name := range names {
		for _, fault := range content.IsDNS1123Subdomain(name.value) {
			errs = append(errs, fmt.Errorf("%s: %q: %s", name.flag, name.value, fault))
		}
	}
	return errs
}

// broadGroups are those that nearly everybody is in.
var broadGroups = map[string]bool{"system:authenticated": true, "system:unauthenticated": true, "system:serviceaccounts": true}

func (o *Options) checkExemptions() []error {
	var errs []error
	for _, user := range o.ExemptUsers {
		if user != strings.TrimSpace(user) || user == "" {
			errs = append(errs, fmt.Errorf("--exempt-users: %q is no user", user))
		}
		if strings.Contains(user, "*") {
			errs = append(errs, fmt.Errorf("--exempt-users: %q: users are compared whole; name each", user))
		}
	}
	for _, group := range o.ExemptGroups {
		if group != strings.TrimSpace(group) || group == "" || broadGroups[group] {
			errs = append(errs, fmt.Errorf("--exempt-groups: %q: name a group of the few that are exempt", group))
		}
	}
	return errs
}

func (o *Options) checkCertificate() []error {
	var errs []error
	switch {
	case (o.TLSCertFile == "") != (o.TLSKeyFile == ""):
		errs = append(errs, errors.New("--tls-cert-file and --tls-private-key-file: give both or none"))
	case o.TLSCertFile != "":
		if _, err := tls.LoadX509KeyPair(o.TLSCertFile, o.TLSKeyFile); err != nil {
			errs = append(errs, fmt.Errorf("--tls-cert-file, --tls-private-key-file: %w", err))
		}
	}
	if o.ClientCAFile != "" {
		if _, err := readCAs(o.ClientCAFile); err != nil {
			errs = append(errs, fmt.Errorf("--client-ca-file: %w", err))
		}
	}
	return errs
}

func (l LeaderElection) check() []error {
	var errs []error
	if l.RetryPeriod <= 0 || l.RenewDeadline <= l.RetryPeriod*6/5 {
		errs = append(errs, fmt.Errorf("--leader-elect-renew-deadline: %s must be more than 1.2 times --leader-elect-retry-period (%s), which must be positive", l.RenewDeadline, l.RetryPeriod))
	}
	if l.LeaseDuration <= l.RenewDeadline {
		errs = append(errs, fmt.Errorf("--leader-elect-lease-duration: %s must be more than --leader-elect-renew-deadline (%s)", l.LeaseDuration, l.RenewDeadline))
	}
	if l.LeaseDuration < time.Second {
		errs = append(errs, fmt.Errorf("--leader-elect-lease-duration: %s: must be at least 1s", l.LeaseDuration))
	}
	return errs
}

// served are the schedulers that hold pods of teams that queue.
func (o *Options) served() []string {
	return append([]string{cmp.Or(o.SchedulerName, v1alpha1.SchedulerName)}, o.ServedSchedulers...)
}

// exemptions are the callers that are let through.
func (o *Options) exemptions() decide.Exemptions {
	return decide.Exemptions{Users: o.ExemptUsers, Groups: o.ExemptGroups}
}

// host is the name by which the API server calls the webhook.
func (o *Options) host() string { return o.ServiceName + "." + o.Namespace + ".svc" }
