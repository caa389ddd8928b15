//go:build perf

package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/component-base/metrics/legacyregistry"
	benchmark "k8s.io/kubernetes/test/integration/scheduler_perf"
	"k8s.io/kubernetes/test/utils/client-go/ktesting"
	"sigs.k8s.io/yaml"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/test/perf/scheduling/workload"
)

// patience is how long something that takes a moment may take.
const patience = time.Minute

// prepare installs what our scheduler reads: the custom resources, prices, the quota
// configuration and the ledger of a team that has more than enough. The stock profile
// meets the same objects. Pods wait until our plugins have read them, and the pods that
// are not measured come first.
func prepare(p profile, w workload.Workload) benchmark.HookFn {
	return func(tCtx ktesting.TContext) error {
		client, err := apiextensions.NewForConfig(tCtx.RESTConfig())
		if err != nil {
			return fmt.Errorf("building a client for CRDs: %w", err)
		}
		if err := installCRDs(tCtx, client); err != nil {
			return err
		}
		if err := installObjects(tCtx); err != nil {
			return err
		}
		tCtx.Cleanup(func() { examine(tCtx, p, w) })
		if p == ours {
			return awaitFleet(tCtx)
		}
		return nil
	}
}

func installCRDs(ctx context.Context, client apiextensions.Interface) error {
	paths, err := filepath.Glob(filepath.Join(base, "crd", "*.yaml"))
	if err != nil || len(paths) == 0 {
		return fmt.Errorf("finding CRDs in %s: %w", base, err)
	}
	crds := client.ApiextensionsV1().CustomResourceDefinitions()
	for _, path := range paths {
		var crd apiextensionsv1.CustomResourceDefinition
		if err := read(path, &crd); err != nil {
			return err
		}
		if _, err := crds.Create(ctx, &crd, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("installing CRD %s: %w", crd.Name, err)
		}
		if err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
			current, err := crds.Get(ctx, crd.Name, metav1.GetOptions{})
			return err == nil && established(current), nil
		}); err != nil {
			return fmt.Errorf("waiting for CRD %s: %w", crd.Name, err)
		}
	}
	return nil
}

func established(crd *apiextensionsv1.CustomResourceDefinition) bool {
	for _, condition := range crd.Status.Conditions {
		if condition.Type == apiextensionsv1.Established {
			return condition.Status == apiextensionsv1.ConditionTrue
		}
	}
	return false
}

func installObjects(tCtx ktesting.TContext) error {
	core := tCtx.Client().CoreV1()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.SystemNamespace}}
	if _, err := core.Namespaces().Create(tCtx, namespace, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("creating namespace %s: %w", namespace.Name, err)
	}
	for _, name := range []string{"prices.yaml", "quota-config.yaml"} {
		var shipped corev1.ConfigMap
		if err := read(filepath.Join(base, name), &shipped); err != nil {
			return err
		}
		if _, err := core.ConfigMaps(namespace.Name).Create(tCtx, &shipped, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("creating ConfigMap %s: %w", shipped.Name, err)
		}
	}
	enough := resource.MustParse("1000000")
	ledger := &v1alpha1.QuotaLedger{
		ObjectMeta: metav1.ObjectMeta{Name: "bench"},
		Spec:       v1alpha1.QuotaLedgerSpec{ConfigHash: "bench", Policy: v1alpha1.QuotaQueue, Limits: v1alpha1.QuotaLimits{Devices: &enough}},
	}
	ledger.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("QuotaLedger"))
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(ledger)
	if err != nil {
		return fmt.Errorf("encoding the team's ledger: %w", err)
	}
	if _, err := tCtx.Dynamic().Resource(v1alpha1.QuotaLedgerResource).Create(tCtx, &unstructured.Unstructured{Object: object}, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("creating the team's ledger: %w", err)
	}
	return nil
}

// awaitFleet waits until our plugin has heard of the fleet, by its own metric.
func awaitFleet(ctx context.Context) error {
	const metric = "wastenot_scheduler_fleet_stale"
	if err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		families, err := legacyregistry.DefaultGatherer.Gather()
		if err != nil {
			return false, err
		}
		for _, family := range families {
			if family.GetName() == metric {
				return family.GetMetric()[0].GetGauge().GetValue() == 0, nil
			}
		}
		return false, nil
	}); err != nil {
		return fmt.Errorf("waiting until %s is 0: %w", metric, err)
	}
	return nil
}

func read(path string, into any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("reading a manifest: %w", err)
	}
	if err := yaml.UnmarshalStrict(text, into); err != nil {
		return fmt.Errorf("reading %s: %w", path, err)
	}
	return nil
}
