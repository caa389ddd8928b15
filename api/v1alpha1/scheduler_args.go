package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AcceleratorsArgs configures the scheduler plugin. Decoding is strict: an
// unknown field is an error that names it.
// +kubebuilder:object:generate=true
type AcceleratorsArgs struct {
	metav1.TypeMeta `json:",inline"`

	// Telemetry says where the fleet is watched. Without an address the plugin works
	// from quarantines alone and every device scores as Unknown.
	// +optional
	Telemetry FleetClientArgs `json:"telemetry,omitempty"`

	// Packing tells whether this profile chooses nodes by what they would still take of
	// the requests to come and by the grades of their devices (default true). Where it is
	// false, nodes are only turned away for unfit devices and the choice among the others
	// is left to the other plugins. It is the one field that profiles may differ in.
	// +optional
	Packing *bool `json:"packing,omitempty"`
}

// FleetClientArgs says how to reach telemetry and how to prove who is asking.
type FleetClientArgs struct {
	// Address is host:port of telemetry's gRPC service.
	// +optional
	Address string `json:"address,omitempty"`
	// ServerName is the name that the server's certificate must bear; by default the
	// host of Address.
	// +optional
	ServerName string `json:"serverName,omitempty"`
	// CAFile holds the PEM bundle that signs the server's certificate. It is read
	// again on every connection, so rotation needs no restart.
	// +optional
	CAFile string `json:"caFile,omitempty"`
	// TokenFile holds a service account token for the audience wastenot-telemetry. It
	// is read again for every call.
	// +optional
	TokenFile string `json:"tokenFile,omitempty"`
	// StaleAfter is how long without word from telemetry until every grade and
	// activity counts as Unknown (default 10s). Failed devices stay avoided.
	// +optional
	StaleAfter *metav1.Duration `json:"staleAfter,omitempty"`
}

// PricedBindingArgs configures the plugin that writes prices with bindings. Decoding is
// strict.
// +kubebuilder:object:generate=true
type PricedBindingArgs struct {
	metav1.TypeMeta `json:",inline"`

	// Namespace is where the ConfigMaps wastenot-prices and wastenot-quota are (default
	// wastenot-system).
	// +optional
	Namespace string `json:"namespace,omitempty"`
}
