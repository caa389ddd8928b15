package app

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

func TestOptions(t *testing.T) {
	tests := map[string]struct {
		args []string
		// want are parts of the error, each of one fault.
		want []string
	}{
		"defaults":                 {},
		"no scheduler":             {args: []string{"--scheduler-name="}},
		"all faults at once":       {args: []string{"--namespace=", "--service-name=A", "--webhook-address=9443", "--http-address=x"}, want: []string{"--namespace", "--service-name", "--webhook-address", "--http-address"}},
		"names":                    {args: []string{"--configuration-name=", "--scheduler-name=a_b"}, want: []string{"--configuration-name", "--scheduler-name"}},
		"everybody is exempt":      {args: []string{"--exempt-groups=system:authenticated"}, want: []string{"--exempt-groups"}},
		"pattern":                  {args: []string{"--exempt-users=system:serviceaccount:gpu-operator:*"}, want: []string{"--exempt-users"}},
		"blank user":               {args: []string{"--exempt-users=a, b"}, want: []string{"--exempt-users"}},
		"certificate only":         {args: []string{"--tls-cert-file=x"}, want: []string{"give both or none"}},
		"certificate is not there": {args: []string{"--tls-cert-file=x", "--tls-private-key-file=y"}, want: []string{"--tls-cert-file, --tls-private-key-file"}},
		"served schedulers":        {args: []string{"--served-schedulers=default-scheduler,gpu"}},
		"served is no name":        {args: []string{"--served-schedulers=a_b"}, want: []string{"--served-schedulers"}},
		"no client CA":             {args: []string{"--client-ca-file=x"}, want: []string{"--client-ca-file"}},
		"client CA is none":        {args: []string{"--client-ca-file=options_test.go"}, want: []string{"--client-ca-file: reading the CAs: options_test.go holds no certificate"}},
		"leases":                   {args: []string{"--leader-elect-lease-duration=5s", "--leader-elect-retry-period=9s"}, want: []string{"--leader-elect-renew-deadline", "--leader-elect-lease-duration"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			options := NewOptions()
			flags := pflag.NewFlagSet("", pflag.ContinueOnError)
			options.AddFlags(flags)
			if err := flags.Parse(test.args); err != nil {
				t.Fatal(err)
			}
			err := options.Validate()
			if (err != nil) != (len(test.want) > 0) {
				t.Fatalf("error %v, want %q", err, test.want)
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %v lacks %q", err, want)
				}
			}
		})
	}
}

func TestServedSchedulers(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"by default":            {want: "wastenot-scheduler"},
		"nobody is stamped":     {args: []string{"--scheduler-name="}, want: "wastenot-scheduler"},
		"another name":          {args: []string{"--scheduler-name=gpu"}, want: "gpu"},
		"in place of the stock": {args: []string{"--served-schedulers=default-scheduler"}, want: "wastenot-scheduler default-scheduler"},
	} {
		options := NewOptions()
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		options.AddFlags(flags)
		if err := flags.Parse(test.args); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(options.served(), " "); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestOperatorsValidatorIsExemptByDefault(t *testing.T) {
	exemptions := NewOptions().exemptions()
	for _, user := range []string{
		"system:serviceaccount:gpu-operator:nvidia-operator-validator", "system:serviceaccount:nvidia-gpu-operator:nvidia-operator-validator",
		"system:serviceaccount:wastenot-system:wastenot-scheduler", "system:kube-scheduler",
	} {
		if !exemptions.Exempt(user, nil) {
			t.Errorf("%s is not exempt", user)
		}
	}
	for _, user := range []string{"system:serviceaccount:kube-system:replicaset-controller", "system:serviceaccount:default:nvidia-operator-validator", "kubernetes-admin"} {
		if exemptions.Exempt(user, []string{"system:authenticated", "system:masters"}) {
			t.Errorf("%s is exempt", user)
		}
	}
}

// TestDeploymentFitsTheFlags: its arguments parse, and its ports are those that are
// served.
func TestDeploymentFitsTheFlags(t *testing.T) {
	var container corev1.Container
	for _, object := range manifest(t, "webhook/deployment.yaml") {
		if deployment, ok := object.(*appsv1.Deployment); ok {
			container = deployment.Spec.Template.Spec.Containers[0]
		}
	}
	options := NewOptions()
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	options.AddFlags(flags)
	flags.Int("v", 0, "") // klog's
	if err := flags.Parse(container.Args); err != nil {
		t.Fatal(err)
	}
	for address, port := range map[string]int32{options.WebhookAddress: 9443, options.HTTPAddress: 8080} {
		if !slices.ContainsFunc(container.Ports, func(p corev1.ContainerPort) bool { return p.ContainerPort == port }) || !strings.HasSuffix(address, ":"+map[int32]string{9443: "9443", 8080: "8080"}[port]) {
			t.Errorf("port %d is not that of %s", port, address)
		}
	}
}
