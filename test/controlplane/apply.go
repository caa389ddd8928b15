package controlplane

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
)

const (
	fieldManager = "wastenot-test"

	applyPoll = 50 * time.Millisecond
	// servePatience bounds the wait for an API that a CustomResourceDefinition just
	// brought; past it the manifest simply names a kind that does not exist.
	servePatience = 15 * time.Second
)

// Edit changes an object between reading and applying it, for instance to point
// a webhook at a URL on loopback. Returning false leaves the object out.
type Edit func(object *unstructured.Unstructured) (keep bool, err error)

// Apply applies every YAML file of manifests, by server-side apply as the
// administrator, and takes fields that others own. Kinds that others need come
// first (definitions, namespaces, identities), the rest in the order of file
// names; CustomResourceDefinitions are awaited until they are served.
// It stops at the first error.
func (c *Cluster) Apply(ctx context.Context, manifests fs.FS, edits ...Edit) error {
	objects, err := readManifests(manifests)
	if err != nil {
		return err
	}
	return c.apply(ctx, objects, edits)
}

// ApplyDir is Apply of a directory.
func (c *Cluster) ApplyDir(ctx context.Context, dir string, edits ...Edit) error {
	return c.Apply(ctx, os.DirFS(dir), edits...)
}

// ApplyYAML is Apply of one text with any number of documents.
func (c *Cluster) ApplyYAML(ctx context.Context, text string, edits ...Edit) error {
	objects, err := parseManifest([]byte(text))
	if err != nil {
		return fmt.Errorf("reading manifests: %w", err)
	}
	return c.apply(ctx, objects, edits)
}

func (c *Cluster) apply(ctx context.Context, objects []*unstructured.Unstructured, edits []Edit) error {
	kept, err := edit(objects, edits)
	if err != nil {
		return err
	}
	sortByNeed(kept)
	client, err := dynamic.NewForConfig(c.config)
	if err != nil {
		return fmt.Errorf("making a dynamic client: %w", err)
	}
	a := &applier{
		client: client,
		mapper: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(c.client.Discovery())),
	}
	for _, object := range kept {
		if err := a.apply(ctx, object); err != nil {
			return fmt.Errorf("applying %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}

// applier sends objects to one API server.
type applier struct {
	client dynamic.Interface
	mapper meta.ResettableRESTMapper
}

func (a *applier) apply(ctx context.Context, object *unstructured.Unstructured) error {
	bounded, cancel := context.WithTimeout(ctx, servePatience)
	defer cancel()
	var last error
	err := wait.PollUntilContextCancel(bounded, applyPoll, true, func(ctx context.Context) (bool, error) {
		last = a.once(ctx, object)
		if notServedYet(last) {
			a.mapper.Reset()
			return false, nil
		}
		return true, last
	})
	if err != nil {
		return errors.Join(last, ctx.Err())
	}
	if object.GetKind() == kindDefinition {
		return a.awaitEstablished(ctx, object.GetName())
	}
	return nil
}

func (a *applier) once(ctx context.Context, object *unstructured.Unstructured) error {
	resource, err := a.resourceFor(object)
	if err != nil {
		return err
	}
	options := metav1.ApplyOptions{FieldManager: fieldManager, Force: true}
	_, err = resource.Apply(ctx, object.GetName(), object, options)
	return err
}

func (a *applier) resourceFor(object *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	gvk := object.GroupVersionKind()
	mapping, err := a.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return nil, err
	}
	resource := a.client.Resource(mapping.Resource)
	if mapping.Scope.Name() != meta.RESTScopeNameNamespace {
		return resource, nil
	}
	namespace := object.GetNamespace()
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	return resource.Namespace(namespace), nil
}

// notServedYet tells an API that is unknown to discovery, or known and not yet
// routed, from an object or a namespace that does not exist.
func notServedYet(err error) bool {
	return meta.IsNoMatchError(err) ||
		apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

func (a *applier) awaitEstablished(ctx context.Context, name string) error {
	definitions := a.client.Resource(definitionResource)
	err := wait.PollUntilContextCancel(ctx, applyPoll, true, func(ctx context.Context) (bool, error) {
		definition, err := definitions.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		return conditionTrue(definition, "Established"), nil
	})
	if err != nil {
		return fmt.Errorf("waiting for it to be established: %w", err)
	}
	a.mapper.Reset()
	return nil
}
