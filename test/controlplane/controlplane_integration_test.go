//go:build integration

package controlplane_test

import (
	"context"
	"os"
	"testing"
	"testing/fstest"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"wastenot.dev/test/controlplane"
	"wastenot.dev/test/controlplane/simnode"
)

// patience bounds every wait of these tests. It is no claim about speed.
const patience = 2 * time.Minute

// versions are the two ends of the API servers that we support.
var versions = map[string]string{"native": "", "1.34": "1.34"}

const widgetDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.sim.wastenot.dev}
spec:
  group: sim.wastenot.dev
  names: {kind: Widget, plural: widgets}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

// readerManifests name the custom resource and the namespace before what they need.
const readerManifests = `
apiVersion: sim.wastenot.dev/v1
kind: Widget
metadata: {name: first, namespace: readers}
spec: {size: 1}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: reader, namespace: readers}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
subjects: [{kind: ServiceAccount, name: reader, namespace: readers}]
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: reader, namespace: readers}
---
apiVersion: v1
kind: Namespace
metadata: {name: readers}
`

func TestControlPlane(t *testing.T) {
	for name, emulated := range versions {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			t.Cleanup(cancel)
			cluster, err := controlplane.Start(ctx, controlplane.Options{EmulatedVersion: emulated, Progress: t.Output()})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(cluster.Stop)
			s := &suite{Cluster: cluster, publishesIDs: emulated == ""}
			t.Run("applies manifests in the order of need", func(t *testing.T) { s.testApply(ctx, t) })
			t.Run("enforces the RBAC of a ServiceAccount", func(t *testing.T) { s.testRBAC(ctx, t) })
			t.Run("issues tokens for an audience", func(t *testing.T) { s.testTokenFile(ctx, t) })
			s.startFleet(ctx, t)
			t.Run("runs a bound pod on random devices", func(t *testing.T) { s.testRun(ctx, t) })
			t.Run("rejects what does not fit", func(t *testing.T) { s.testReject(ctx, t) })
			t.Run("shows a device that fails", func(t *testing.T) { s.testHealth(ctx, t) })
			t.Run("frees devices on deletion", func(t *testing.T) { s.testDelete(ctx, t) })
			t.Run("completes a Job", func(t *testing.T) { s.testJob(ctx, t) })
			t.Run("takes running pods up again", func(t *testing.T) { s.testRestart(ctx, t) })
		})
	}
}

// suite is one control plane with three nodes of four GPUs.
type suite struct {
	*controlplane.Cluster
	fleet        *simnode.Fleet
	publishesIDs bool // the API server keeps allocatedResourcesStatus (1.36 and later)
}

func (s *suite) testApply(ctx context.Context, t *testing.T) {
	manifests := fstest.MapFS{
		"a/readers.yaml":     {Data: []byte(readerManifests)},
		"b/crd.yaml":         {Data: []byte(widgetDefinition)},
		"kustomization.yaml": {Data: []byte("resources: [a, b]")},
	}
	for range 2 { // the second time nothing is new
		if err := s.Apply(ctx, manifests); err != nil {
			t.Fatal(err)
		}
	}
	path := "/apis/sim.wastenot.dev/v1/namespaces/readers/widgets/first"
	if _, err := s.Client().Discovery().RESTClient().Get().AbsPath(path).DoRaw(ctx); err != nil {
		t.Errorf("reading the custom resource: %v", err)
	}
	err := s.ApplyYAML(ctx, "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: missing}}")
	if !apierrors.IsNotFound(err) {
		t.Errorf("applying into a missing namespace: got %v, want NotFound", err)
	}
}

// testRBAC needs what testApply applied.
func (s *suite) testRBAC(ctx context.Context, t *testing.T) {
	file, err := s.ServiceAccountKubeconfig(ctx, "readers", "reader")
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", file)
	if err != nil {
		t.Fatal(err)
	}
	reader, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := reader.CoreV1().Pods("readers").List(ctx, metav1.ListOptions{}); err != nil {
		t.Errorf("listing pods in its own namespace: %v", err)
	}
	if _, err := reader.CoreV1().Pods("default").List(ctx, metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("listing pods in another namespace: got %v, want Forbidden", err)
	}
	err = reader.CoreV1().Pods("readers").Delete(ctx, "none", metav1.DeleteOptions{})
	if !apierrors.IsForbidden(err) {
		t.Errorf("deleting a pod: got %v, want Forbidden", err)
	}
}

// testTokenFile needs what testApply applied.
func (s *suite) testTokenFile(ctx context.Context, t *testing.T) {
	file, err := s.TokenFile(ctx, "readers", "reader", "telemetry")
	if err != nil {
		t.Fatal(err)
	}
	token, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for audience, wantAuthenticated := range map[string]bool{"telemetry": true, "other": false} {
		review, err := s.Client().AuthenticationV1().TokenReviews().Create(ctx, &authenticationv1.TokenReview{
			Spec: authenticationv1.TokenReviewSpec{Token: string(token), Audiences: []string{audience}},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if review.Status.Authenticated != wantAuthenticated {
			t.Errorf("audience %s: authenticated is %t, want %t", audience, review.Status.Authenticated, wantAuthenticated)
		}
	}
}
