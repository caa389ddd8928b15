package manifests

import (
	"bufio"
	"bytes"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/util/yaml"
	sigsyaml "sigs.k8s.io/yaml"

	"wastenot.dev/api/v1alpha1"
)

const (
	repository  = "../.."
	chart       = root + "/chart"
	helmModfile = "go.helm.mod"
	helmPackage = "helm.sh/helm/v4/cmd/helm"
)

// object is a rendered object as it is written.
type object = map[string]any

// helm runs the pinned Helm, by itself: no cluster, no files of whoever runs the test.
// It returns what it printed on standard output, and an error that holds the rest.
func helm(t *testing.T, args ...string) (string, error) {
	t.Helper()
	binary, err := helmBinary()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), binary, args...)
	home := t.TempDir()
	command.Env = append(os.Environ(), "KUBECONFIG=/dev/null", "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home)
	return output(command)
}

// helmBinary is the Helm that `make helm` built, or one built now: the test never goes
// without.
var helmBinary = sync.OnceValues(func() (string, error) {
	built, err := filepath.Abs(repository + "/bin/helm")
	if err != nil {
		return "", err
	}
	pinned, err := pinnedHelm()
	if err != nil {
		return "", err
	}
	if info, err := buildinfo.ReadFile(built); err == nil && info.Main.Version == pinned {
		return built, nil
	}
	// go keeps it among what it has built, so that there is nothing to remove.
	command := exec.Command("go", "tool", "-n", "-modfile="+helmModfile, "helm")
	command.Dir = repository
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	path, err := output(command)
	return strings.TrimSpace(path), err
})

// pinnedHelm is the version that go.helm.mod requires.
func pinnedHelm() (string, error) {
	text, err := os.ReadFile(filepath.Join(repository, helmModfile))
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "helm.sh/helm/v4" {
			return fields[1], nil
		}
	}
	return "", fmt.Errorf("%s requires no helm.sh/helm/v4", helmModfile)
}

func output(command *exec.Cmd) (string, error) {
	var stderr bytes.Buffer
	command.Stderr = &stderr
	stdout, err := command.Output()
	if err != nil {
		err = fmt.Errorf("%s: %w\n%s", filepath.Base(command.Path), err, &stderr)
	}
	return string(stdout), err
}

// render is what the chart becomes in a namespace.
func render(t *testing.T, namespace string, args ...string) string {
	t.Helper()
	text, err := helm(t, append([]string{"template", "wastenot", chart, "--namespace", namespace}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// kustomize is what a kustomization below manifests/ becomes.
func kustomize(t *testing.T, name string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "tool", "-modfile=go.tools.mod", "kustomize", "build", filepath.Join("manifests", name))
	command.Dir = repository
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	text, err := output(command)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// split returns the YAML documents of a text, without those that hold nothing.
func split(t *testing.T, text string) [][]byte {
	t.Helper()
	var out [][]byte
	reader := yaml.NewYAMLReader(bufio.NewReader(strings.NewReader(text)))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		var content any
		if err := sigsyaml.Unmarshal(document, &content); err != nil {
			t.Fatalf("%v in\n%s", err, document)
		}
		if content != nil {
			out = append(out, document)
		}
	}
}

// parse returns the objects of a text by "Kind namespace/name".
func parse(t *testing.T, text string) map[string]object {
	t.Helper()
	out := map[string]object{}
	for _, document := range split(t, text) {
		var parsed object
		if err := sigsyaml.UnmarshalStrict(document, &parsed); err != nil {
			t.Fatalf("%v in\n%s", err, document)
		}
		metadata := child(parsed, "metadata")
		namespace, _ := metadata["namespace"].(string)
		name := fmt.Sprintf("%s %s/%s", parsed["kind"], namespace, metadata["name"])
		if _, twice := out[name]; twice {
			t.Errorf("%s is there twice", name)
		}
		out[name] = parsed
	}
	return out
}

// child walks into nested maps. What is missing is an empty map that nobody keeps.
func child(of object, path ...string) object {
	for _, key := range path {
		next, _ := of[key].(object)
		if next == nil {
			return object{}
		}
		of = next
	}
	return of
}

// strict decodes every object of a text against its type.
func strict(t *testing.T, text string) {
	t.Helper()
	d := decoder(t)
	for _, document := range split(t, text) {
		if _, _, err := d.Decode(document, nil, nil); err != nil {
			t.Errorf("%v in\n%s", err, document)
		}
	}
}

// deployment are the first container and the annotations of the pods of a rendered
// Deployment.
func deployment(t *testing.T, objects map[string]object, namespace, name string) (container object, annotations object) {
	t.Helper()
	template := child(objects["Deployment "+namespace+"/"+name], "spec", "template")
	containers, _ := child(template, "spec")["containers"].([]any)
	if len(containers) != 1 {
		t.Fatalf("Deployment %s has %d containers, want 1", name, len(containers))
	}
	container, _ = containers[0].(object)
	return container, child(template, "metadata", "annotations")
}

// arguments are those of the first container of a rendered Deployment.
func arguments(t *testing.T, objects map[string]object, namespace, name string) []string {
	t.Helper()
	container, _ := deployment(t, objects, namespace, name)
	var out []string
	list, _ := container["args"].([]any)
	for _, argument := range list {
		out = append(out, fmt.Sprint(argument))
	}
	return out
}

// config is the content of a key of a rendered ConfigMap.
func config(t *testing.T, objects map[string]object, namespace, name, key string) string {
	t.Helper()
	text, ok := child(objects["ConfigMap "+namespace+"/"+name], "data")[key].(string)
	if !ok {
		t.Fatalf("no ConfigMap %s with %s", name, key)
	}
	return text
}

// settings are the ConfigMaps whose content the chart makes from values, and their keys.
var settings = map[string][]string{
	v1alpha1.PolicyConfigMap: {"health.yaml", "mix.yaml"}, v1alpha1.QuotaConfigMap: {v1alpha1.QuotaKey}, v1alpha1.PricesConfigMap: {v1alpha1.PricesKey},
}
