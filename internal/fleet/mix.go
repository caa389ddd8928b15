package fleet

import (
	"slices"

	telemetryv1alpha1 "wastenot.dev/api/telemetry/v1alpha1"
)

// Mix is what pods ask for lately, by which all who rank places rank them alike. It is
// immutable.
type Mix struct {
	// Items are in the order in which telemetry has them, the most frequent first.
	Items []MixItem
}

// MixItem is one kind of request and how often it is asked for, beside the others. Its
// fields are those of an item of placement/packing.
type MixItem struct {
	// Kind is the resource that is asked for, such as nvidia.com/gpu.
	Kind string
	// Count is how many units of it; Milli is how much of a unit each takes, in
	// thousandths.
	Count, Milli int32
	// CPUMilli and MemoryMiB are what it takes of the machine.
	CPUMilli, MemoryMiB int64
	// Products are the values of nvidia.com/gpu.product of which the node must have one,
	// separated by "|"; empty is any.
	Products string
	Weight   int64
}

// Equal tells whether both say the same. One that is not known equals only another.
func (m *Mix) Equal(other *Mix) bool {
	if m == nil || other == nil {
		return m == other
	}
	return slices.Equal(m.Items, other.Items)
}

// MixToWire converts a mix for sending; nil stays nil.
func MixToWire(mix *Mix) *telemetryv1alpha1.Mix {
	if mix == nil {
		return nil
	}
	out := &telemetryv1alpha1.Mix{Items: make([]*telemetryv1alpha1.MixItem, 0, len(mix.Items))}
	for i := range mix.Items {
		item := &mix.Items[i]
		out.Items = append(out.Items, &telemetryv1alpha1.MixItem{
			Kind: item.Kind, Count: item.Count, Milli: item.Milli, CpuMilli: item.CPUMilli, MemoryMib: item.MemoryMiB,
			Products: item.Products, Weight: item.Weight,
		})
	}
	return out
}

// MixFromWire converts a received mix; nil stays nil.
func MixFromWire(mix *telemetryv1alpha1.Mix) *Mix {
	if mix == nil {
		return nil
	}
	out := &Mix{}
	for _, item := range mix.GetItems() {
		out.Items = append(out.Items, MixItem{
			Kind: item.GetKind(), Count: item.GetCount(), Milli: item.GetMilli(), CPUMilli: item.GetCpuMilli(), MemoryMiB: item.GetMemoryMib(),
			Products: item.GetProducts(), Weight: item.GetWeight(),
		})
	}
	return out
}
