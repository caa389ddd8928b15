package manifests

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	schedulerconfigv1 "k8s.io/kube-scheduler/config/v1"
	sigsyaml "sigs.k8s.io/yaml"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/scheduler/pricedbinding"
)

// difference is one way in which the chart may differ from the kustomization. It takes
// itself out of both objects and tells whether it was there.
type difference struct {
	what  string
	strip func(t *testing.T, ofChart, ofBase object) bool
}

// appVersion is the chart's.
func appVersion(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(chart + "/Chart.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var meta struct {
		AppVersion string `json:"appVersion"`
	}
	if err := sigsyaml.Unmarshal(text, &meta); err != nil || meta.AppVersion == "" {
		t.Fatalf("Chart.yaml has the appVersion %q (%v)", meta.AppVersion, err)
	}
	return meta.AppVersion
}

// allowed are all differences that are meant, besides the Namespace itself, which Helm
// cannot have in a release.
var allowed = []difference{
	{"labels by which Helm and people find the release", func(_ *testing.T, ofChart, _ object) bool {
		labels := child(ofChart, "metadata", "labels")
		return take(labels, "app.kubernetes.io/instance") && take(labels, "app.kubernetes.io/managed-by") &&
			take(labels, "app.kubernetes.io/version") && take(labels, "helm.sh/chart")
	}},
	{"CRDs that outlive the release", func(_ *testing.T, ofChart, _ object) bool {
		return ofChart["kind"] == "CustomResourceDefinition" && take(child(ofChart, "metadata", "annotations"), "helm.sh/resource-policy")
	}},
	{"checksums of what is read at start", func(_ *testing.T, ofChart, _ object) bool {
		meta := child(ofChart, "spec", "template", "metadata")
		annotations := child(meta, "annotations")
		found := take(annotations, "checksum/policy") || take(annotations, "checksum/config")
		if found && len(annotations) == 0 {
			delete(meta, "annotations")
		}
		return found
	}},
	{"the tag of images, which kustomize is told by whoever installs", func(t *testing.T, ofChart, _ object) bool {
		found := false
		containers, _ := child(ofChart, "spec", "template", "spec")["containers"].([]any)
		for _, container := range containers {
			container, _ := container.(object)
			image, _ := container["image"].(string)
			name, tag, _ := strings.Cut(image, ":")
			if tag == appVersion(t) {
				container["image"], found = name, true
			}
		}
		return found
	}},
	{"comments and layout in what the chart writes from values", func(t *testing.T, ofChart, ofBase object) bool {
		name, _ := child(ofChart, "metadata")["name"].(string)
		keys, ok := settings[name]
		if !ok || ofChart["kind"] != "ConfigMap" {
			return false
		}
		for _, data := range []object{child(ofChart, "data"), child(ofBase, "data")} {
			for _, key := range keys {
				text, _ := data[key].(string)
				var parsed object
				if err := sigsyaml.UnmarshalStrict([]byte(text), &parsed); err != nil || len(parsed) == 0 {
					t.Errorf("%s holds %q as %s (%v)", name, text, key, err)
				}
				data[key] = parsed
			}
		}
		return true
	}},
}

// take deletes a key and tells whether it was there.
func take(from object, key string) bool {
	_, found := from[key]
	delete(from, key)
	return found
}

// compare reports every difference between the chart and the kustomization that is not
// allowed, and every allowed one that there is no longer.
func compare(t *testing.T, ofChart, ofBase map[string]object, namespace string) {
	t.Helper()
	own := "Namespace /" + namespace
	if _, ok := ofBase[own]; !ok {
		t.Errorf("the kustomization has no %s", own)
	}
	delete(ofBase, own)
	if diff := cmp.Diff(slices.Sorted(maps.Keys(ofBase)), slices.Sorted(maps.Keys(ofChart))); diff != "" {
		t.Errorf("objects of the kustomization (-) and the chart (+):\n%s", diff)
	}
	used := map[string]bool{}
	for name, base := range ofBase {
		rendered, ok := ofChart[name]
		if !ok {
			continue
		}
		for _, difference := range allowed {
			used[difference.what] = difference.strip(t, rendered, base) || used[difference.what]
		}
		if diff := cmp.Diff(base, rendered); diff != "" {
			t.Errorf("%s of the kustomization (-) and the chart (+):\n%s", name, diff)
		}
	}
	for _, difference := range allowed {
		if !used[difference.what] {
			t.Errorf("no object differs any more in this: %s", difference.what)
		}
	}
}

func TestChartIsTheKustomization(t *testing.T) {
	for kustomization, args := range map[string][]string{
		"base":                     nil,
		"overlays/replace-default": {"--set", "scheduler.mode=replace-default"},
	} {
		t.Run(kustomization, func(t *testing.T) {
			rendered := render(t, v1alpha1.SystemNamespace, args...)
			strict(t, rendered)
			ofChart := parse(t, rendered)
			if len(ofChart) < 30 {
				t.Errorf("the chart has only %d objects", len(ofChart))
			}
			compare(t, ofChart, parse(t, kustomize(t, kustomization)), v1alpha1.SystemNamespace)
		})
	}
}

// TestChartInAnotherNamespace: nothing but the namespace changes, and PricedBinding is
// told, which looks for prices in wastenot-system by itself.
func TestChartInAnotherNamespace(t *testing.T) {
	const elsewhere = "gpu-thrift"
	rendered := render(t, elsewhere)
	if at := strings.Index(rendered, v1alpha1.SystemNamespace); at >= 0 {
		t.Errorf("%s is still in …%s…", v1alpha1.SystemNamespace, rendered[max(0, at-200):min(len(rendered), at+100)])
	}
	strict(t, rendered)
	objects := parse(t, rendered)
	data := child(objects["ConfigMap "+elsewhere+"/wastenot-scheduler"], "data")
	for _, file := range []string{"secondary.yaml", "replace-default.yaml"} {
		text := config(t, objects, elsewhere, "wastenot-scheduler", file)
		checkPricedBinding(t, file, text, elsewhere)
		data[file] = strings.ReplaceAll(text, "      - name: PricedBinding\n        args:\n          namespace: "+elsewhere+"\n", "")
	}
	base := strings.ReplaceAll(kustomize(t, "base"), v1alpha1.SystemNamespace, elsewhere)
	compare(t, objects, parse(t, base), elsewhere)
}

func checkPricedBinding(t *testing.T, file, text, want string) {
	t.Helper()
	decoded, _, err := decoder(t).Decode([]byte(text), nil, nil)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	configuration, ok := decoded.(*schedulerconfigv1.KubeSchedulerConfiguration)
	if !ok {
		t.Fatalf("%s: decoded a %T", file, decoded)
	}
	for _, profile := range configuration.Profiles {
		var args v1alpha1.PricedBindingArgs
		for _, plugin := range profile.PluginConfig {
			if plugin.Name != pricedbinding.Name {
				continue
			}
			if err := sigsyaml.UnmarshalStrict(plugin.Args.Raw, &args); err != nil {
				t.Errorf("%s, profile %s: %v", file, *profile.SchedulerName, err)
			}
		}
		if args.Namespace != want {
			t.Errorf("%s, profile %s looks for prices in %q, want %q", file, *profile.SchedulerName, args.Namespace, want)
		}
	}
}

func TestChartHoldsTheCRDs(t *testing.T) {
	read := func(folder string) map[string]string {
		files, err := filepath.Glob(filepath.Join(root, folder, "*.yaml"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s has %d files (%v)", folder, len(files), err)
		}
		out := map[string]string{}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			out[filepath.Base(file)] = string(text)
		}
		return out
	}
	if diff := cmp.Diff(read("base/crd"), read("chart/files/crd")); diff != "" {
		t.Errorf("to fix it: rm manifests/chart/files/crd/* && cp manifests/base/crd/* manifests/chart/files/crd/\n%s", diff)
	}
}

func TestChartPassesLint(t *testing.T) {
	for name, args := range map[string][]string{"defaults": nil, "every value": {"--values", everyValue}} {
		t.Run(name, func(t *testing.T) {
			if text, err := helm(t, append([]string{"lint", "--strict", chart, "--namespace", v1alpha1.SystemNamespace}, args...)...); err != nil {
				t.Errorf("%v\n%s", err, text)
			}
		})
	}
}
