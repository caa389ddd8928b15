package controlplane

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

const kindDefinition = "CustomResourceDefinition"

var definitionResource = schema.GroupVersionResource{
	Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions",
}

// needRank orders what other objects refer to before what refers to it. Kinds
// that are not listed come last. Admission comes after all else, or a policy
// would judge, and a webhook that is not up would refuse, the rest of the manifests.
var needRank = map[string]int{
	kindDefinition:       -9,
	"Namespace":          -8,
	"PriorityClass":      -7,
	"ServiceAccount":     -6,
	"ClusterRole":        -5,
	"Role":               -5,
	"ClusterRoleBinding": -4,
	"RoleBinding":        -4,

	"ValidatingAdmissionPolicy":        1,
	"ValidatingAdmissionPolicyBinding": 2,
	"MutatingAdmissionPolicy":          1,
	"MutatingAdmissionPolicyBinding":   2,
	"ValidatingWebhookConfiguration":   3,
	"MutatingWebhookConfiguration":     3,
}

func sortByNeed(objects []*unstructured.Unstructured) {
	slices.SortStableFunc(objects, func(a, b *unstructured.Unstructured) int {
		return needRank[a.GetKind()] - needRank[b.GetKind()]
	})
}

// readManifests reads all YAML files in the order of their paths.
func readManifests(manifests fs.FS) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	err := fs.WalkDir(manifests, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !isManifest(name) {
			return err
		}
		text, err := fs.ReadFile(manifests, name)
		if err != nil {
			return err
		}
		found, err := parseManifest(text)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		objects = append(objects, found...)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading manifests: %w", err)
	}
	return objects, nil
}

// isManifest leaves out what only kustomize reads.
func isManifest(name string) bool {
	switch path.Base(name) {
	case "kustomization.yaml", "kustomization.yml":
		return false
	}
	return path.Ext(name) == ".yaml" || path.Ext(name) == ".yml"
}

// parseManifest reads the documents of one file; those with nothing but
// comments are skipped and Lists are unfolded.
func parseManifest(text []byte) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for number := 1; ; number++ {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, err
		}
		found, err := parseDocument(document)
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", number, err)
		}
		objects = append(objects, found...)
	}
}

func parseDocument(document []byte) ([]*unstructured.Unstructured, error) {
	asJSON, err := yaml.YAMLToJSONStrict(document)
	if err != nil || string(asJSON) == "null" {
		return nil, err
	}
	decoded, err := runtime.Decode(unstructured.UnstructuredJSONScheme, asJSON)
	if err != nil {
		return nil, err
	}
	switch decoded := decoded.(type) {
	case *unstructured.Unstructured:
		return []*unstructured.Unstructured{decoded}, nil
	case *unstructured.UnstructuredList:
		var items []*unstructured.Unstructured
		for i := range decoded.Items {
			items = append(items, &decoded.Items[i])
		}
		return items, nil
	default:
		return nil, fmt.Errorf("unexpected %T", decoded)
	}
}

// edit returns the objects that every edit keeps.
func edit(objects []*unstructured.Unstructured, edits []Edit) ([]*unstructured.Unstructured, error) {
	var kept []*unstructured.Unstructured
	for _, object := range objects {
		keep := true
		for _, change := range edits {
			var err error
			if keep, err = change(object); err != nil {
				return nil, fmt.Errorf("editing %s %s: %w", object.GetKind(), object.GetName(), err)
			}
			if !keep {
				break
			}
		}
		if keep {
			kept = append(kept, object)
		}
	}
	return kept, nil
}

func conditionTrue(object *unstructured.Unstructured, kind string) bool {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(condition any) bool {
		fields, ok := condition.(map[string]any)
		return ok && fields["type"] == kind && fields["status"] == "True"
	})
}
