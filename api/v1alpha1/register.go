package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the API group and version of every type in this package.
var GroupVersion = schema.GroupVersion{Group: "wastenot.dev", Version: "v1alpha1"}

// QuarantineResource is the resource under which quarantines are served.
var QuarantineResource = GroupVersion.WithResource("quarantines")

// QuotaLedgerResource is the resource under which ledgers are served.
var QuotaLedgerResource = GroupVersion.WithResource("quotaledgers")

// AddToScheme registers the API types with a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &Quarantine{}, &QuarantineList{}, &QuotaLedger{}, &QuotaLedgerList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
