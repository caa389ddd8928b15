//go:build integration

package manifests

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"wastenot.dev/test/controlplane"
)

const (
	// patience bounds every wait. It is no claim about speed.
	patience = time.Minute
	// place is where the release of the test goes.
	place = "gpu-thrift"
)

// records are what people would miss after an uninstall.
const records = `
apiVersion: wastenot.dev/v1alpha1
kind: Quarantine
metadata: {name: kept}
spec: {node: gpu-a, uuid: GPU-1, reason: XID79}
---
apiVersion: wastenot.dev/v1alpha1
kind: QuotaLedger
metadata: {name: vision}
spec: {configHash: abc, policy: Reject, limits: {devices: "8"}}
`

// TestReleaseComesAndGoes installs, upgrades and uninstalls the chart on a real API
// server, with the records and certificates that the processes would make, and then does
// what NOTES.txt says: nothing is left.
func TestReleaseComesAndGoes(t *testing.T) {
	for name, version := range map[string]string{"native": "", "emulating 1.34": "1.34"} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 4*patience)
			t.Cleanup(cancel)
			cluster, err := controlplane.Start(ctx, controlplane.Options{EmulatedVersion: version, Progress: t.Output()})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(cluster.Stop)
			comeAndGo(ctx, t, &release{Cluster: cluster})
		})
	}
}

func comeAndGo(ctx context.Context, t *testing.T, r *release) {
	before := r.inventory(ctx, t)
	r.helm(t, "install", "wastenot", chart, "--create-namespace")
	if err := r.ApplyYAML(ctx, records); err != nil {
		t.Fatal(err)
	}
	r.writeBundles(ctx, t)
	r.keepCertificate(ctx, t)
	r.helm(t, "upgrade", "wastenot", chart, "--set", "scheduler.mode=replace-default,webhook.replicas=4")
	r.checkBundles(ctx, t)
	r.helm(t, "uninstall", "wastenot", "--wait")

	left := []string{
		"apiservices.apiregistration.k8s.io /v1alpha1.wastenot.dev", // Comes and goes with the CRDs.
		"customresourcedefinitions.apiextensions.k8s.io /quarantines.wastenot.dev",
		"customresourcedefinitions.apiextensions.k8s.io /quotaledgers.wastenot.dev",
		"namespaces /" + place,
		"quarantines.wastenot.dev /kept",
		"quotaledgers.wastenot.dev /vision",
	}
	r.await(ctx, t, "the uninstall", before, left, func(name string) bool { return strings.Contains(name, " "+place+"/") })

	r.delete(ctx, t, schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}, place)
	for _, crd := range []string{"quarantines.wastenot.dev", "quotaledgers.wastenot.dev"} {
		r.delete(ctx, t, schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}, crd)
	}
	r.await(ctx, t, "the deletion of the namespace and the CRDs", before, nil, func(string) bool { return false })
}

// release is the chart on a control plane.
type release struct {
	*controlplane.Cluster
}

func (r *release) helm(t *testing.T, args ...string) {
	t.Helper()
	text, err := helm(t, append(args, "--kubeconfig", r.Kubeconfig(), "--namespace", place)...)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
}

// inventory names everything that the API server holds but what it writes of itself.
func (r *release) inventory(ctx context.Context, t *testing.T) []string {
	t.Helper()
	config := r.Config()
	config.WarningHandlerWithContext = rest.NoWarnings{} // Everything is listed, also what is deprecated.
	client, err := metadata.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	lists, err := discovery.ServerPreferredResources(r.Client().Discovery())
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, list := range lists {
		group, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		for _, resource := range list.APIResources {
			if !slices.Contains(resource.Verbs, "list") || !slices.Contains(resource.Verbs, "delete") || resource.Name == "events" {
				continue
			}
			found, err := client.Resource(group.WithResource(resource.Name)).List(ctx, metav1.ListOptions{})
			if apierrors.IsNotFound(err) {
				continue // A definition that has just gone.
			}
			if err != nil {
				t.Fatalf("listing %s: %v", resource.Name, err)
			}
			for _, item := range found.Items {
				out = append(out, group.WithResource(resource.Name).GroupResource().String()+" "+item.Namespace+"/"+item.Name)
			}
		}
	}
	slices.Sort(out)
	return out
}

// await waits until there is exactly more than before, besides what is not looked at.
func (r *release) await(ctx context.Context, t *testing.T, what string, before, more []string, ignored func(string) bool) {
	t.Helper()
	want := append(slices.Clone(before), more...)
	slices.Sort(want)
	var diff string
	err := wait.PollUntilContextTimeout(ctx, time.Second, patience, true, func(ctx context.Context) (bool, error) {
		diff = cmp.Diff(want, slices.DeleteFunc(r.inventory(ctx, t), ignored))
		return diff == "", nil
	})
	if err != nil {
		t.Fatalf("after %s (-want +got):\n%s", what, diff)
	}
}

func (r *release) delete(ctx context.Context, t *testing.T, resource schema.GroupVersionResource, name string) {
	t.Helper()
	client, err := dynamic.NewForConfig(r.Config())
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Resource(resource).Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// bundle is a caBundle as the webhook writes it.
const bundle = "LS0tLS1CRUdJTi=="

// writeBundles does what the webhook does once it runs.
func (r *release) writeBundles(ctx context.Context, t *testing.T) {
	t.Helper()
	configurations := r.Client().AdmissionregistrationV1()
	patch := func(numbers ...string) []byte {
		var operations []string
		for _, number := range numbers {
			operations = append(operations, `{"op":"add","path":"/webhooks/`+number+`/clientConfig/caBundle","value":"`+bundle+`"}`)
		}
		return []byte("[" + strings.Join(operations, ",") + "]")
	}
	_, mutating := configurations.MutatingWebhookConfigurations().Patch(ctx, "wastenot-webhook", types.JSONPatchType, patch("0"), metav1.PatchOptions{})
	_, validating := configurations.ValidatingWebhookConfigurations().Patch(ctx, "wastenot-webhook", types.JSONPatchType, patch("0", "1", "2"), metav1.PatchOptions{})
	if err := errors.Join(mutating, validating); err != nil {
		t.Fatal(err)
	}
}

// checkBundles: an upgrade does not take from the webhook what it wrote.
func (r *release) checkBundles(ctx context.Context, t *testing.T) {
	t.Helper()
	validating, err := r.Client().AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(ctx, "wastenot-webhook", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, webhook := range validating.Webhooks {
		if len(webhook.ClientConfig.CABundle) == 0 {
			t.Errorf("the upgrade emptied caBundle of %s", webhook.Name)
		}
	}
}

// keepCertificate makes what telemetry makes for itself.
func (r *release) keepCertificate(ctx context.Context, t *testing.T) {
	t.Helper()
	meta := metav1.ObjectMeta{Namespace: place, Name: "wastenot-telemetry-tls"}
	if _, err := r.Client().CoreV1().Secrets(place).Create(ctx, &corev1.Secret{ObjectMeta: meta}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}
