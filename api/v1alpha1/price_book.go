package v1alpha1

import (
	"encoding/json"
	"fmt"
)

// PriceBook gives the price of an hour of nodes and devices. It is the content of
// prices.yaml in the ConfigMap wastenot-prices.
// +kubebuilder:object:generate=true
type PriceBook struct {
	// Currency is the ISO 4217 code of every amount (default USD).
	// +optional
	Currency string `json:"currency,omitempty"`
	// Rules are tried in three passes: those with a nodeSelector, those with an
	// instanceType, those with a product; in each the first that matches a node gives
	// its price.
	// +optional
	Rules []PriceRule `json:"rules,omitempty"`
	// BuiltIn says whether nodes that no rule matches are priced by the list of on-demand
	// cloud prices that is built in (default Use). The list is in USD.
	// +optional
	BuiltIn BuiltInPrices `json:"builtIn,omitempty"`
}

// BuiltInPrices says whether the built-in list is used.
type BuiltInPrices string

// The choices.
const (
	BuiltInUse    BuiltInPrices = "Use"
	BuiltInIgnore BuiltInPrices = "Ignore"
)

// PriceRule prices the nodes that it matches. Exactly one of NodeSelector,
// InstanceType and Product says which, and exactly one of PerInstanceHour and
// PerDeviceHour says how much.
type PriceRule struct {
	// NodeSelector matches nodes that have all these labels.
	// +optional
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	// InstanceType matches node.kubernetes.io/instance-type.
	// +optional
	InstanceType string `json:"instanceType,omitempty"`
	// Product matches nvidia.com/gpu.product, without its -SHARED or MIG suffix.
	// +optional
	Product string `json:"product,omitempty"`
	// Region narrows InstanceType or Product to one topology.kubernetes.io/region.
	// +optional
	Region string `json:"region,omitempty"`

	// PerInstanceHour is the price of the whole node, a decimal such as "55.04". Write it
	// in quotes: YAML reads 010 and 1e3 otherwise than people do.
	// +optional
	PerInstanceHour Amount `json:"perInstanceHour,omitempty"`
	// Devices is how many devices share PerInstanceHour; by default as many as the built-in
	// list has for the instance type, else as the node has. Give it where neither is
	// certain: a device that has failed may be missing from the node.
	// +optional
	Devices int64 `json:"devices,omitempty"`
	// PerDeviceHour is the price of one whole device.
	// +optional
	PerDeviceHour Amount `json:"perDeviceHour,omitempty"`

	// PricingModel is for people: on-demand, spot, reserved, amortised, internal-rate.
	// +optional
	PricingModel string `json:"pricingModel,omitempty"`
	// EffectiveFrom and EffectiveTo bound when the rule applies, as in 2026-11-30: from
	// the start of the first to the end of the second day, in UTC.
	// +optional
	EffectiveFrom string `json:"effectiveFrom,omitempty"`
	// +optional
	EffectiveTo string `json:"effectiveTo,omitempty"`
	// Source and Note are for people.
	// +optional
	Source string `json:"source,omitempty"`
	// +optional
	Note string `json:"note,omitempty"`
}

// Amount is an amount of money as people write it: a decimal such as "6.88". Nothing
// rounds it before it is parsed into integer micro-units.
type Amount string

// UnmarshalJSON takes a string, or a number as it is written.
func (a *Amount) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '"' {
		return json.Unmarshal(text, (*string)(a))
	}
	var number json.Number
	if err := json.Unmarshal(text, &number); err != nil {
		return fmt.Errorf("%s is no amount; write a decimal such as 6.88", text)
	}
	*a = Amount(number)
	return nil
}
