package manifests

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	sigsyaml "sigs.k8s.io/yaml"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/pricing"
	"wastenot.dev/quota"
	telemetryapp "wastenot.dev/telemetry/app"
	"wastenot.dev/telemetry/health"
	"wastenot.dev/telemetry/mix"
	webhookapp "wastenot.dev/webhook/app"
)

// everyValue sets every value of the chart to other than its default.
const everyValue = "testdata/every-value.yaml"

// everything are the arguments that set every value and leave nothing out for it.
var everything = []string{
	"--values", everyValue,
	"--set", "webhook.enabled=true,quota.create=true,prices.create=true,crds.install=true,criticalPodQuota.create=true",
}

func readValues(t *testing.T, path string) object {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out object
	if err := sigsyaml.UnmarshalStrict(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestEveryValueCounts sets one value after the other: a value that changes nothing is
// one that a template forgot.
func TestEveryValueCounts(t *testing.T) {
	defaults := render(t, v1alpha1.SystemNamespace)
	known := leaves(readValues(t, chart+"/values.yaml"), nil)
	set := leaves(readValues(t, everyValue), known)
	for path, value := range known {
		if _, ok := set[path]; !ok || reflect.DeepEqual(set[path], value) {
			t.Errorf("%s does not set %s to other than its default", everyValue, path)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(set)) {
		t.Run(path, func(t *testing.T) {
			text := render(t, v1alpha1.SystemNamespace, "--values", oneValue(t, path, set[path]))
			if text == defaults {
				t.Error("the chart stays the same")
			}
			strict(t, text)
		})
	}
}

// leaves are the values by their dotted path. Maps whose keys are for people to choose
// are values: those that are empty here, or a leaf among the known ones.
func leaves(values object, known object) object {
	out := object{}
	for key, value := range values {
		nested, _ := value.(object)
		if len(nested) == 0 {
			out[key] = value
			continue
		}
		below := object{}
		for path, value := range known {
			if path == key {
				nested = nil
			}
			if rest, ok := strings.CutPrefix(path, key+"."); ok {
				below[rest] = value
			}
		}
		if nested == nil || (known != nil && len(below) == 0) {
			out[key] = value
			continue
		}
		if known == nil {
			below = nil
		}
		for path, value := range leaves(nested, below) {
			out[key+"."+path] = value
		}
	}
	return out
}

// oneValue is a file that sets one value.
func oneValue(t *testing.T, path string, value any) string {
	t.Helper()
	keys := strings.Split(path, ".")
	for _, key := range slices.Backward(keys) {
		value = object{key: value}
	}
	text, err := sigsyaml.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestEveryValueTogether: what the chart writes is what the programs read.
func TestEveryValueTogether(t *testing.T) {
	const namespace = "gpu-thrift"
	rendered := render(t, namespace, everything...)
	strict(t, rendered)
	objects := parse(t, rendered)

	for key, check := range map[string]func([]byte) error{
		"health.yaml":      func(text []byte) error { _, err := health.ParsePolicy(text); return err },
		"mix.yaml":         func(text []byte) error { _, err := mix.ParsePolicy(text); return err },
		v1alpha1.QuotaKey:  func(text []byte) error { _, err := quota.Parse(text); return err },
		v1alpha1.PricesKey: func(text []byte) error { _, err := pricing.Parse(text); return err },
	} {
		for name, keys := range settings {
			if !slices.Contains(keys, key) {
				continue
			}
			if err := check([]byte(config(t, objects, namespace, name, key))); err != nil {
				t.Errorf("%s of %s: %v", key, name, err)
			}
		}
	}

	t.Setenv("POD_NAMESPACE", namespace)
	t.Run("telemetry", func(t *testing.T) {
		options := telemetryapp.NewOptions()
		parseFlags(t, options.AddFlags, arguments(t, objects, namespace, "wastenot-telemetry"))
		// What is mounted where the flags say.
		folder := t.TempDir()
		for key, file := range map[string]*string{"health.yaml": &options.HealthPolicyFile, "mix.yaml": &options.MixPolicyFile} {
			if want := "/etc/wastenot/" + key; *file != want {
				t.Errorf("the flag for %s holds %q, want %q", key, *file, want)
			}
			*file = filepath.Join(folder, key)
			if err := os.WriteFile(*file, []byte(config(t, objects, namespace, v1alpha1.PolicyConfigMap, key)), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := options.Validate(); err != nil {
			t.Error(err)
		}
		set := child(readValues(t, everyValue), "telemetry")
		for name, got := range map[string]any{
			"exporterNamespaces": options.ExporterNamespaces, "exporterSelectors": options.ExporterSelectors,
			"targets": options.Targets, "nodeLabels": options.NodeLabels,
		} {
			if fmt.Sprint(got) != fmt.Sprint(set[name]) {
				t.Errorf("%s: the flag holds %q, the value is %q", name, got, set[name])
			}
		}
	})
	t.Run("webhook", func(t *testing.T) {
		options, own := webhookapp.NewOptions(), webhookapp.NewOptions()
		parseFlags(t, options.AddFlags, arguments(t, objects, namespace, "wastenot-webhook"))
		if want := "/etc/wastenot/client-ca/ca.crt"; options.ClientCAFile != want {
			t.Errorf("client CA %q, want %s", options.ClientCAFile, want)
		}
		container, _ := deployment(t, objects, namespace, "wastenot-webhook")
		if mounts := fmt.Sprint(container["volumeMounts"]); !strings.Contains(mounts, "mountPath:"+filepath.Dir(options.ClientCAFile)+" ") {
			t.Errorf("%s is not below a mount: %s", options.ClientCAFile, mounts)
		}
		options.ClientCAFile = "" // It is there where the ConfigMap is mounted.
		if err := options.Validate(); err != nil {
			t.Error(err)
		}
		if want := []string{corev1.DefaultSchedulerName}; !slices.Equal(options.ServedSchedulers, want) {
			t.Errorf("served schedulers %q, want %q", options.ServedSchedulers, want)
		}
		if options.SchedulerName != "" {
			t.Errorf("scheduler name %q, want none", options.SchedulerName)
		}
		// What is given is added to the exemptions that the webhook has by itself.
		if diff := cmp.Diff(append(own.ExemptUsers, "system:serviceaccount:ci:smoke-test"), options.ExemptUsers); diff != "" {
			t.Errorf("users that are exempt:\n%s", diff)
		}
		if diff := cmp.Diff(append(own.ExemptGroups, "oidc:operators"), options.ExemptGroups); diff != "" {
			t.Errorf("groups that are exempt:\n%s", diff)
		}
	})
}

// parseFlags parses arguments as the commands do.
func parseFlags(t *testing.T, add func(*pflag.FlagSet), args []string) {
	t.Helper()
	flags := pflag.NewFlagSet(t.Name(), pflag.ContinueOnError)
	add(flags)
	logging := flag.NewFlagSet(t.Name(), flag.ContinueOnError)
	klog.InitFlags(logging)
	flags.AddGoFlagSet(logging)
	if err := flags.Parse(args); err != nil || flags.NArg() > 0 {
		t.Errorf("parsing %q: %v, and %q are left", args, err, flags.Args())
	}
}

// TestChartImages: a digest wins over a tag, a component's own registry and tag over
// those of all.
func TestChartImages(t *testing.T) {
	const digest = "sha256:0000000000000000000000000000000000000000000000000000000000000001"
	version := appVersion(t)
	for name, test := range map[string]struct{ set, want string }{
		"nothing":       {"", "wastenot-telemetry:" + version},
		"registry":      {"image.registry=registry.example.com:5000/a", "registry.example.com:5000/a/wastenot-telemetry:" + version},
		"tag":           {"image.tag=v1", "wastenot-telemetry:v1"},
		"own tag":       {"image.tag=v1,telemetry.image.tag=v2", "wastenot-telemetry:v2"},
		"own registry":  {"image.registry=a.example.com,telemetry.image.registry=b.example.com", "b.example.com/wastenot-telemetry:" + version},
		"digest":        {"image.registry=a.example.com,image.tag=v1,telemetry.image.digest=" + digest, "a.example.com/wastenot-telemetry@" + digest},
		"other's image": {"scheduler.image.tag=v2", "wastenot-telemetry:" + version},
	} {
		t.Run(name, func(t *testing.T) {
			container, _ := deployment(t, parse(t, render(t, v1alpha1.SystemNamespace, "--set", test.set)), v1alpha1.SystemNamespace, "wastenot-telemetry")
			if container["image"] != test.want {
				t.Errorf("image %s, want %s", container["image"], test.want)
			}
		})
	}
}

// TestChangedConfigurationStartsPods: pods start anew for what they read at start, and
// for nothing else.
func TestChangedConfigurationStartsPods(t *testing.T) {
	pods := func(args ...string) map[string]string {
		objects, out := parse(t, render(t, v1alpha1.SystemNamespace, args...)), map[string]string{}
		for _, name := range []string{"telemetry", "webhook", "scheduler"} {
			out[name] = fmt.Sprint(child(objects["Deployment "+v1alpha1.SystemNamespace+"/wastenot-"+name], "spec", "template"))
		}
		return out
	}
	before := pods()
	for set, want := range map[string][]string{
		"healthPolicy.probation=20m":                                          {"telemetry"},
		"scheduler.mode=replace-default":                                      {"scheduler", "webhook"},
		"webhook.schedulerName=":                                              {"webhook"},
		"prices.config.builtIn=Ignore":                                        nil,
		"quota.config.teams[0].name=a,quota.config.teams[0].limits.devices=1": nil,
		"criticalPodQuota.pods=20":                                            nil,
	} {
		t.Run(set, func(t *testing.T) {
			var changed []string
			for name, after := range pods("--set", set) {
				if after != before[name] {
					changed = append(changed, name)
				}
			}
			slices.Sort(changed)
			if !slices.Equal(changed, want) {
				t.Errorf("starts %v anew, want %v", changed, want)
			}
		})
	}
}

func TestChartWithoutParts(t *testing.T) {
	for name, test := range map[string]struct {
		set  string
		gone func(object string) bool
	}{
		"webhook":   {"webhook.enabled=false", func(o string) bool { return strings.HasSuffix(o, "/wastenot-webhook") }},
		"CRDs":      {"crds.install=false", func(o string) bool { return strings.HasPrefix(o, "CustomResourceDefinition ") }},
		"quota":     {"quota.create=false", func(o string) bool { return strings.HasSuffix(o, "/wastenot-quota") }},
		"prices":    {"prices.create=false", func(o string) bool { return strings.HasSuffix(o, "/wastenot-prices") }},
		"pod quota": {"criticalPodQuota.create=false", func(o string) bool { return strings.HasPrefix(o, "ResourceQuota ") }},
	} {
		t.Run(name, func(t *testing.T) {
			all := parse(t, render(t, v1alpha1.SystemNamespace))
			want := slices.DeleteFunc(slices.Sorted(maps.Keys(all)), test.gone)
			if len(want) == len(all) {
				t.Error("the chart never has it")
			}
			got := slices.Sorted(maps.Keys(parse(t, render(t, v1alpha1.SystemNamespace, "--set", test.set))))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("objects that are left (-want +got):\n%s", diff)
			}
		})
	}
}

// TestNotes: what people are told after an install fits what they installed.
func TestNotes(t *testing.T) {
	const uninstall = "helm uninstall wastenot -n gpu-thrift"
	for name, test := range map[string]struct{ set, want, without string }{
		"defaults":              {"", "are given to wastenot-scheduler", v1alpha1.SystemNamespace},
		"replace-default":       {"scheduler.mode=replace-default", "Start the stock kube-scheduler first", "are given to wastenot-scheduler"},
		"without a webhook":     {"webhook.enabled=false", "Nothing changes until a pod says", "wastenot.dev/mode"},
		"nobody is stamped":     {"webhook.schedulerName=", "Nothing changes until a pod says", "are given to wastenot-scheduler"},
		"the CRDs go too":       {"crds.keep=false", uninstall, "kubectl delete crd"},
		"images are not pushed": {"image.registry=", "image.registry is empty", "\n\n\n"},
		"images are pushed":     {"image.registry=registry.example.com", uninstall, "image.registry is empty"},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := helm(t, "install", "wastenot", chart, "--namespace", "gpu-thrift", "--dry-run=client", "--set", test.set)
			if err != nil {
				t.Fatal(err)
			}
			_, notes, _ := strings.Cut(text, "\nNOTES:\n")
			if !strings.Contains(notes, test.want) || !strings.Contains(notes, uninstall) || strings.Contains(notes, test.without) {
				t.Errorf("want %q and not %q in\n%s", test.want, test.without, notes)
			}
		})
	}
}
