package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/labels"

	"wastenot.dev/telemetry/source/dcgm"
)

// parse reads flags as the command does.
func parse(t *testing.T, flags ...string) *Options {
	t.Helper()
	options := NewOptions()
	set := pflag.NewFlagSet("test", pflag.ContinueOnError)
	options.AddFlags(set)
	if err := set.Parse(flags); err != nil {
		t.Fatal(err)
	}
	return options
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestDefaultsAreValid(t *testing.T) {
	t.Setenv("POD_NAMESPACE", "")
	options := parse(t)
	config, err := options.complete()
	if err != nil {
		t.Fatal(err)
	}
	var selectors []string
	for _, selector := range config.selectors {
		selectors = append(selectors, selector.String())
	}
	if diff := cmp.Diff([]string{"app.kubernetes.io/name=dcgm-exporter", "app=nvidia-dcgm-exporter"}, selectors); diff != "" {
		t.Errorf("selectors (-want +got):\n%s", diff)
	}
	if len(config.policy.XID) != 172 || config.policy.Probation != 10*time.Minute {
		t.Errorf("policy of %d codes and a probation of %s", len(config.policy.XID), config.policy.Probation)
	}
	if config.mix.HalfLife != 4096 || len(config.mix.Seed) != 0 {
		t.Errorf("mix policy %+v", config.mix)
	}
	if diff := cmp.Diff([]string{
		"system:serviceaccount:wastenot-system:wastenot-scheduler", "system:serviceaccount:wastenot-system:wastenot-webhook",
	}, options.Watchers); diff != "" {
		t.Errorf("watchers (-want +got):\n%s", diff)
	}
}

func TestNamespaceIsThatOfThePod(t *testing.T) {
	t.Setenv("POD_NAMESPACE", "accelerators")
	options := parse(t)
	if options.Namespace != "accelerators" || options.DNSNames[0] != "wastenot-telemetry.accelerators.svc" ||
		options.Watchers[0] != "system:serviceaccount:accelerators:wastenot-scheduler" {
		t.Errorf("got %s, %v, %v", options.Namespace, options.DNSNames, options.Watchers)
	}
}

func TestFlagsAreTaken(t *testing.T) {
	t.Parallel()
	options := parse(t,
		"--target=http://192.0.2.1:9400/metrics", "--target=node-9=http://192.0.2.9:9400/metrics",
		"--exporter-selector=app in (a, b)", "--scrape-interval=2s", "--idle-window=1h",
		"--node-labels=topology.kubernetes.io/zone,team", "--health-policy="+write(t, "health.yaml", "probation: 3m"),
		"--mix-policy="+write(t, "mix.yaml", "halfLife: 9"),
	)
	config, err := options.complete()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]dcgm.Target{
		{URL: "http://192.0.2.1:9400/metrics"}, {URL: "http://192.0.2.9:9400/metrics", Node: "node-9"},
	}, config.targets); diff != "" {
		t.Errorf("targets (-want +got):\n%s", diff)
	}
	if len(config.selectors) != 1 || !config.selectors[0].Matches(labels.Set{"app": "b"}) {
		t.Errorf("selectors %v: what is given replaces the defaults", config.selectors)
	}
	if config.scrape.Interval != 2*time.Second || config.scrape.Timeout != 2*time.Second || config.scrape.SourceInterval != 30*time.Second {
		t.Errorf("scraping %+v", config.scrape)
	}
	if config.policy.Probation != 3*time.Minute {
		t.Errorf("probation %s", config.policy.Probation)
	}
	if config.mix.HalfLife != 9 {
		t.Errorf("half life %d", config.mix.HalfLife)
	}
	if options.Scrape.Timeout != 0 {
		t.Error("validating changed the options")
	}
}

func TestEveryFaultIsNamedByItsFlag(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		flags []string
		want  []string
	}{
		"selector":              {[]string{"--exporter-selector=a in"}, []string{`--exporter-selector "a in"`}},
		"selector of all pods":  {[]string{"--exporter-selector="}, []string{`--exporter-selector "": it selects every pod`}},
		"targets":               {[]string{"--target=node-1", "--target=http://ok:1/", "--target=ftp://x/"}, []string{"--target", "targets[0]", "targets[2]"}},
		"intervals":             {[]string{"--scrape-interval=0s", "--source-interval=-1s"}, []string{"--scrape-interval", "--source-interval"}},
		"timeout is too long":   {[]string{"--scrape-interval=5s", "--scrape-timeout=6s"}, []string{"--scrape-timeout: 6s"}},
		"timeout is negative":   {[]string{"--scrape-timeout=-1s"}, []string{"--scrape-timeout"}},
		"size":                  {[]string{"--scrape-max-bytes=-1"}, []string{"--scrape-max-bytes"}},
		"window":                {[]string{"--idle-window=0s"}, []string{"--idle-window"}},
		"watchers":              {[]string{"--watchers="}, []string{"--watchers"}},
		"namespace":             {[]string{"--namespace="}, []string{"--namespace"}},
		"addresses":             {[]string{"--grpc-address=9443", "--http-address=:80:80"}, []string{"--grpc-address", "--http-address"}},
		"labels":                {[]string{"--node-labels=ok,not a label"}, []string{`--node-labels: "not a label"`}},
		"certificate alone":     {[]string{"--tls-cert-file=/cert"}, []string{"--tls-cert-file and --tls-private-key-file"}},
		"certificate is absent": {[]string{"--tls-cert-file=/no/cert", "--tls-private-key-file=/no/key"}, []string{"--tls-cert-file", "/no/cert"}},
		"names":                 {[]string{"--tls-dns-names="}, []string{"--tls-dns-names"}},
		"policy is absent":      {[]string{"--health-policy=/no/health.yaml"}, []string{"--health-policy", "/no/health.yaml"}},
		"policy field":          {[]string{"--health-policy=" + write(t, "a.yaml", "probatoin: 1m")}, []string{"--health-policy", `"probatoin"`}},
		"policy value":          {[]string{"--health-policy=" + write(t, "b.yaml", `xid: {"79": {grade: Bad}}`)}, []string{"--health-policy", "xid[79].grade"}},
		"mix is absent":         {[]string{"--mix-policy=/no/mix.yaml"}, []string{"--mix-policy", "/no/mix.yaml"}},
		"mix field":             {[]string{"--mix-policy=" + write(t, "c.yaml", "seeds: []")}, []string{"--mix-policy", `"seeds"`}},
		"mix value":             {[]string{"--mix-policy=" + write(t, "d.yaml", "seed: [{resource: cpu}]")}, []string{"--mix-policy", "seed[0].resource"}},
		"everything at once": {
			[]string{"--exporter-selector=", "--target=x", "--scrape-interval=-1s", "--idle-window=-1s", "--watchers=", "--grpc-address=x", "--health-policy=/no/health.yaml", "--mix-policy=/no/mix.yaml"},
			[]string{"--exporter-selector", "--target", "--scrape-interval", "--idle-window", "--watchers", "--grpc-address", "--health-policy", "--mix-policy"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := parse(t, test.flags...).complete()
			if err == nil {
				t.Fatal("the options were taken")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error does not say %q:\n%v", want, err)
				}
			}
		})
	}
}
