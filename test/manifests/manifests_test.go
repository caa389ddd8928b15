package manifests

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	schedulerconfigv1 "k8s.io/kube-scheduler/config/v1"
	sigsyaml "sigs.k8s.io/yaml"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/scheduler"
	"wastenot.dev/telemetry/health"
	"wastenot.dev/telemetry/mix"
)

const root = "../../manifests"

// decoder decodes every kind that the manifests use, and refuses unknown fields.
func decoder(t *testing.T) runtime.Decoder {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), apiextensionsv1.AddToScheme(scheme), v1alpha1.AddToScheme(scheme), schedulerconfigv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	return serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
}

// documents are the YAML documents of the files below manifests/, without
// kustomizations and the chart, by "file#number".
func documents(t *testing.T) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && path == chart {
			return filepath.SkipDir // Its templates are read once they are rendered.
		}
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".yaml" || entry.Name() == "kustomization.yaml" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		reader := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
		for number := 1; ; number++ {
			text, err := reader.Read()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			out[fmt.Sprintf("%s#%d", path, number)] = text
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func decodeAll(t *testing.T) map[string]runtime.Object {
	t.Helper()
	objects := map[string]runtime.Object{}
	d := decoder(t)
	for name, text := range documents(t) {
		object, _, err := d.Decode(text, nil, nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		objects[name] = object
	}
	return objects
}

func TestEveryManifestDecodesStrictly(t *testing.T) {
	if got := len(decodeAll(t)); got < 15 {
		t.Errorf("decoded %d objects; are the manifests still where the test looks?", got)
	}
}

// TestDecoderIsStrict shows that the test above can fail.
func TestDecoderIsStrict(t *testing.T) {
	_, _, err := decoder(t).Decode([]byte("apiVersion: v1\nkind: Namespace\nmetadata:\n  name: x\nspecc: {}\n"), nil, nil)
	if err == nil || !strings.Contains(err.Error(), "specc") {
		t.Errorf("got %v, want an error that names the unknown field", err)
	}
}

func TestKustomizationsNameEveryFile(t *testing.T) {
	base := filepath.Join(root, "base")
	text, err := os.ReadFile(filepath.Join(base, "kustomization.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var kustomization struct {
		Resources []string `json:"resources"`
	}
	if err := sigsyaml.Unmarshal(text, &kustomization); err != nil {
		t.Fatal(err)
	}
	var files []string
	err = filepath.WalkDir(base, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && entry.Name() != "kustomization.yaml" {
			relative, err := filepath.Rel(base, path)
			files = append(files, relative)
			return err
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(files)
	slices.Sort(kustomization.Resources)
	if !slices.Equal(files, kustomization.Resources) {
		t.Errorf("manifests/base holds %v, its kustomization names %v", files, kustomization.Resources)
	}
}

func TestPoliciesAreValid(t *testing.T) {
	for name, object := range decodeAll(t) {
		config, ok := object.(*corev1.ConfigMap)
		if !ok || config.Name != v1alpha1.PolicyConfigMap {
			continue
		}
		if _, err := health.ParsePolicy([]byte(config.Data["health.yaml"])); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := mix.ParsePolicy([]byte(config.Data["mix.yaml"])); err != nil || config.Data["mix.yaml"] == "" {
			t.Errorf("%s: mix.yaml is %q: %v", name, config.Data["mix.yaml"], err)
		}
		return
	}
	t.Errorf("no ConfigMap %s", v1alpha1.PolicyConfigMap)
}

// TestSchedulerConfigurations decodes both, with the plugin's args, and checks that
// what they name is mounted.
func TestSchedulerConfigurations(t *testing.T) {
	var config *corev1.ConfigMap
	var mounts []corev1.VolumeMount
	for _, object := range decodeAll(t) {
		switch object := object.(type) {
		case *corev1.ConfigMap:
			if object.Name == "wastenot-scheduler" {
				config = object
			}
		case *appsv1.Deployment:
			if object.Name == "wastenot-scheduler" {
				mounts = object.Spec.Template.Spec.Containers[0].VolumeMounts
			}
		}
	}
	if config == nil || len(mounts) == 0 {
		t.Fatal("no ConfigMap or no Deployment wastenot-scheduler")
	}
	for file, wantProfiles := range map[string][]string{
		"secondary.yaml":       {v1alpha1.SchedulerName},
		"replace-default.yaml": {v1alpha1.SchedulerName, corev1.DefaultSchedulerName},
	} {
		t.Run(file, func(t *testing.T) {
			object, _, err := decoder(t).Decode([]byte(config.Data[file]), nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			decoded, ok := object.(*schedulerconfigv1.KubeSchedulerConfiguration)
			if !ok {
				t.Fatalf("decoded a %T", object)
			}
			var profiles []string
			for _, profile := range decoded.Profiles {
				profiles = append(profiles, *profile.SchedulerName)
				checkPluginConfig(t, profile.PluginConfig, mounts)
			}
			if !slices.Equal(profiles, wantProfiles) {
				t.Errorf("profiles %v, want %v", profiles, wantProfiles)
			}
			// Whoever serves default-scheduler stands for the lease of the stock scheduler.
			wantLease := v1alpha1.SystemNamespace + "/" + v1alpha1.SchedulerName
			if slices.Contains(wantProfiles, corev1.DefaultSchedulerName) {
				wantLease = metav1.NamespaceSystem + "/kube-scheduler"
			}
			if got := decoded.LeaderElection.ResourceNamespace + "/" + decoded.LeaderElection.ResourceName; got != wantLease {
				t.Errorf("lease %s, want %s", got, wantLease)
			}
		})
	}
}

func checkPluginConfig(t *testing.T, config []schedulerconfigv1.PluginConfig, mounts []corev1.VolumeMount) {
	t.Helper()
	ours := 0
	for _, plugin := range config {
		if plugin.Name != scheduler.Name {
			if _, _, err := decoder(t).Decode(plugin.Args.Raw, nil, nil); err != nil {
				t.Errorf("args of %s: %v", plugin.Name, err)
			}
			continue
		}
		ours++
		var args v1alpha1.AcceleratorsArgs
		if err := sigsyaml.UnmarshalStrict(plugin.Args.Raw, &args); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{args.Telemetry.CAFile, args.Telemetry.TokenFile} {
			mounted := slices.ContainsFunc(mounts, func(m corev1.VolumeMount) bool { return filepath.Dir(path) == m.MountPath })
			if !mounted {
				t.Errorf("%s is not below a mount of the Deployment", path)
			}
		}
	}
	if ours != 1 {
		t.Errorf("%d sets of args of %s, want 1", ours, scheduler.Name)
	}
}

// TestOverlayPatchesWhatIsThere: its patches name arguments by number, and what stands
// there must be the configuration that is replaced. The webhook learns who holds pods.
func TestOverlayPatchesWhatIsThere(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "overlays", "replace-default", "kustomization.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var overlay struct {
		Patches []struct {
			Target struct{ Kind, Name string } `json:"target"`
			Patch  string                      `json:"patch"`
		} `json:"patches"`
	}
	if err := sigsyaml.Unmarshal(text, &overlay); err != nil {
		t.Fatal(err)
	}
	type operation struct{ Op, Path, Value string }
	const arguments = "/spec/template/spec/containers/0/args/"
	want := map[string][]operation{
		"wastenot-scheduler": {{"replace", arguments + "0", "--config=/etc/wastenot/scheduler/replace-default.yaml"}},
		"wastenot-webhook":   {{"add", arguments + "-", "--served-schedulers=" + corev1.DefaultSchedulerName}},
	}
	got := map[string][]operation{}
	for _, patch := range overlay.Patches {
		var operations []operation
		if err := sigsyaml.UnmarshalStrict([]byte(patch.Patch), &operations); err != nil {
			t.Fatal(err)
		}
		got[patch.Target.Name] = append(got[patch.Target.Name], operations...)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("operations (-want +got):\n%s", diff)
	}
	if args := deploymentArgs(t, "wastenot-scheduler"); !strings.HasPrefix(args[0], "--config=") {
		t.Errorf("the patch would replace %q, which names no configuration", args[0])
	}
	if args := deploymentArgs(t, "wastenot-webhook"); len(args) == 0 {
		t.Error("there are no arguments to add to")
	}
}

// deploymentArgs are the arguments of the first container of the shipped Deployment.
func deploymentArgs(t *testing.T, name string) []string {
	t.Helper()
	for _, object := range decodeAll(t) {
		if deployment, ok := object.(*appsv1.Deployment); ok && deployment.Name == name {
			return deployment.Spec.Template.Spec.Containers[0].Args
		}
	}
	t.Fatalf("no Deployment %s", name)
	return nil
}
