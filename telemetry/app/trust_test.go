package app

import (
	"testing"

	"k8s.io/client-go/kubernetes/fake"

	"wastenot.dev/telemetry/source/dcgm"
)

// TestOnlyTrustedNamespacesAreRead: a pod that calls itself an exporter could have any
// device quarantined.
func TestOnlyTrustedNamespacesAreRead(t *testing.T) {
	trusted, forged := exporter("real", "node-1", "192.0.2.1", nil), exporter("forged", "node-2", "192.0.2.2", nil)
	forged.Namespace = "tenant"
	d, err := newDiscovery(fake.NewClientset(), &config{selectors: selectors(t, []string{"app=a"}), namespaces: []string{"gpu-operator"}}, func([]dcgm.Target) {})
	if err != nil {
		t.Fatal(err)
	}
	for _, pod := range []any{trusted, forged} {
		if err := d.stores[0].Add(pod); err != nil {
			t.Fatal(err)
		}
	}
	if targets := d.targets(); len(targets) != 1 || targets[0].Pod != "real" {
		t.Errorf("the targets are %v", targets)
	}
}
