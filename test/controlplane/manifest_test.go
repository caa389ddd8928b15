package controlplane

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestReadManifests(t *testing.T) {
	tests := map[string]struct {
		files   fstest.MapFS
		want    []string // kind/name in the order of applying
		wantErr string
	}{
		"all documents of all YAML files, in the order of need": {
			files: fstest.MapFS{
				"b.yaml": file("{apiVersion: v1, kind: ConfigMap, metadata: {name: b}}\n---\n# nothing\n---\n" +
					"{apiVersion: v1, kind: Namespace, metadata: {name: ns}}"),
				"a.yml": file("{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: hook}}\n" +
					"---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}"),
				"crds/c.yaml":        file("{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: crd}}"),
				"kustomization.yaml": file("resources: [a.yml]"),
				"README.md":          file("no manifest"),
			},
			want: []string{
				"CustomResourceDefinition/crd", "Namespace/ns", "ConfigMap/a", "ConfigMap/b",
				"ValidatingWebhookConfiguration/hook",
			},
		},
		"the items of a List": {
			files: fstest.MapFS{"a.yaml": file("{apiVersion: v1, kind: List, items: [" +
				"{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}, {apiVersion: v1, kind: Namespace, metadata: {name: ns}}]}")},
			want: []string{"Namespace/ns", "ConfigMap/a"},
		},
		"a document without a kind": {
			files:   fstest.MapFS{"dir/a.yaml": file("{apiVersion: v1, kind: Namespace, metadata: {name: a}}\n---\n{metadata: {name: a}}")},
			wantErr: "reading manifests: dir/a.yaml: document 2: ",
		},
		"a key given twice": {
			files:   fstest.MapFS{"a.yaml": file("apiVersion: v1\nkind: Namespace\nkind: Pod")},
			wantErr: "reading manifests: a.yaml: document 1: ",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			objects, err := readManifests(test.files)
			if test.wantErr != "" {
				if err == nil || !strings.HasPrefix(err.Error(), test.wantErr) {
					t.Errorf("got error %v, want one that starts with %q", err, test.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			sortByNeed(objects)
			if diff := cmp.Diff(test.want, names(objects)); diff != "" {
				t.Errorf("objects (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEdit(t *testing.T) {
	objects, err := parseManifest([]byte("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n---\n" +
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: b}}"))
	if err != nil {
		t.Fatal(err)
	}
	drop := func(o *unstructured.Unstructured) (bool, error) { return o.GetName() != "a", nil }
	rename := func(o *unstructured.Unstructured) (bool, error) {
		if o.GetName() == "a" {
			t.Error("an object that was left out is edited further")
		}
		o.SetName("renamed")
		return true, nil
	}
	kept, err := edit(objects, []Edit{drop, rename})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"ConfigMap/renamed"}, names(kept)); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
}

func file(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }

func names(objects []*unstructured.Unstructured) []string {
	var out []string
	for _, object := range objects {
		out = append(out, object.GetKind()+"/"+object.GetName())
	}
	return out
}
