package mix

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/internal/accelerator"
	"wastenot.dev/internal/strictyaml"
	"wastenot.dev/placement/packing"
	"wastenot.dev/placement/podrequest"
)

// DefaultHalfLife is after how many requests what was learnt counts half, unless the
// policy says otherwise.
const DefaultHalfLife = 4096

// What a policy may say at most. maxHalfLife bounds how many kinds of requests are
// remembered: one who makes pods of ever new kinds makes at most twice as many. Helm would
// write a million as 1e+06, which is no whole number any more.
const (
	maxHalfLife = 999_999
	maxCount    = 10_000
	maxCPUs     = 10_000
	maxMemory   = 1 << 50
)

// Policy says how the mix is learnt.
type Policy struct {
	// HalfLife is after how many requests what was learnt counts half.
	HalfLife int
	// Seed is what is expected before anything has been learnt; its weights are counts of
	// requests.
	Seed []packing.Item
}

// DefaultPolicy returns the policy that is shipped: nothing is expected.
func DefaultPolicy() *Policy { return &Policy{HalfLife: DefaultHalfLife} }

// ParsePolicy reads mix.yaml over the defaults. Unknown fields, or else all values that
// are not valid, are reported with their paths.
func ParsePolicy(text []byte) (*Policy, error) {
	if errs := badQuantities(text); len(errs) > 0 {
		return nil, fmt.Errorf("decoding the mix policy: %w", errs.ToAggregate())
	}
	var in v1alpha1.MixPolicy
	if err := strictyaml.Unmarshal(text, &in); err != nil {
		return nil, fmt.Errorf("decoding the mix policy: %w", err)
	}
	policy := DefaultPolicy()
	if errs := policy.override(&in); len(errs) > 0 {
		return nil, fmt.Errorf("validating the mix policy: %w", errs.ToAggregate())
	}
	return policy, nil
}

func (p *Policy) override(in *v1alpha1.MixPolicy) field.ErrorList {
	halfLife, errs := number(field.NewPath("halfLife"), in.HalfLife, DefaultHalfLife, maxHalfLife)
	p.HalfLife = int(halfLife)
	path := field.NewPath("seed")
	if len(in.Seed) > packing.MaxItems {
		errs = append(errs, field.TooMany(path, len(in.Seed), packing.MaxItems))
	}
	for i := range in.Seed[:min(len(in.Seed), packing.MaxItems)] {
		item, itemErrs := itemOf(path.Index(i), &in.Seed[i])
		errs = append(errs, itemErrs...)
		p.Seed = append(p.Seed, item)
	}
	return errs
}

func itemOf(path *field.Path, in *v1alpha1.MixSeed) (packing.Item, field.ErrorList) {
	var errs field.ErrorList
	kind := corev1.ResourceName(in.Resource)
	if in.Resource == "" {
		errs = append(errs, field.Required(path.Child("resource"), "the resource that is asked for, such as nvidia.com/gpu"))
	} else if accelerator.KindOf(kind) == accelerator.KindNone || len(validation.IsQualifiedName(in.Resource)) > 0 {
		errs = append(errs, field.Invalid(path.Child("resource"), in.Resource, "must be the resource name of an accelerator, such as nvidia.com/gpu"))
	}
	count, countErrs := number(path.Child("count"), in.Count, 1, maxCount)
	weight, weightErrs := number(path.Child("weight"), in.Weight, 1, maxHalfLife)
	errs = slices.Concat(errs, countErrs, weightErrs,
		checkQuantity(path.Child("cpu"), in.CPU, maxCPUs, "CPUs"),
		checkQuantity(path.Child("memory"), in.Memory, maxMemory, "bytes"),
		checkProducts(path.Child("products"), in.Products),
	)
	if len(errs) > 0 {
		return packing.Item{}, errs
	}
	request := packing.Request{
		Kind: in.Resource, Count: int32(count), Milli: packing.Whole, Products: podrequest.Products(in.Products),
	}
	if in.CPU != nil {
		request.CPUMilli = podrequest.CPUMilli(*in.CPU)
	}
	if in.Memory != nil {
		request.MemoryMiB = podrequest.MemoryMiB(*in.Memory)
	}
	// As the learner counts pods, so that a seed and a pod like it are of one kind.
	return packing.Item{Request: request.Coarse(), Weight: weight}, nil
}

// number is what is given, or else the default.
func number(path *field.Path, given *int64, otherwise, most int64) (int64, field.ErrorList) {
	switch {
	case given == nil:
		return otherwise, nil
	case *given < 1 || *given > most:
		return 0, field.ErrorList{field.Invalid(path, *given, fmt.Sprintf("must be from 1 to %d", most))}
	default:
		return *given, nil
	}
}

func checkQuantity(path *field.Path, given *resource.Quantity, most int64, unit string) field.ErrorList {
	if given == nil || (given.Sign() >= 0 && given.CmpInt64(most) <= 0) {
		return nil
	}
	return field.ErrorList{field.Invalid(path, given.String(), fmt.Sprintf("must be from 0 to %d %s", most, unit))}
}

func checkProducts(path *field.Path, products []string) field.ErrorList {
	var errs field.ErrorList
	if len(products) > podrequest.MaxProducts {
		errs = append(errs, field.TooMany(path, len(products), podrequest.MaxProducts))
	}
	for i, product := range products[:min(len(products), podrequest.MaxProducts)] {
		if product == "" || len(validation.IsValidLabelValue(product)) > 0 {
			errs = append(errs, field.Invalid(path.Index(i), product, "must be a value of the label "+podrequest.LabelProduct))
		}
		if slices.Contains(products[:i], product) {
			errs = append(errs, field.Duplicate(path.Index(i), product))
		}
	}
	return errs
}

// quantityForm is what quantities look like. Quantity's own parser takes any exponent,
// and then computes with numbers of a billion digits.
var quantityForm = regexp.MustCompile(`^[+-]?[0-9.]{1,40}([eE][+-]?[0-9]{1,2}|[A-Za-z]{0,2})$`)

// badQuantities names the quantities that cannot be read: the decoder's own error does
// not say which of them it stopped at. Text that is wrong otherwise is left to the
// decoder.
func badQuantities(text []byte) field.ErrorList {
	var in struct {
		Seed []map[string]any `json:"seed"`
	}
	if err := yaml.Unmarshal(text, &in); err != nil {
		return nil
	}
	var errs field.ErrorList
	for i, item := range in.Seed {
		for _, name := range []string{"cpu", "memory"} {
			value, given := item[name]
			if !given || value == nil {
				continue
			}
			written := fmt.Sprint(value)
			if _, err := resource.ParseQuantity(written); !quantityForm.MatchString(written) || err != nil {
				errs = append(errs, field.Invalid(field.NewPath("seed").Index(i).Child(name), strings.ToValidUTF8(written[:min(len(written), 64)], ""), "must be a quantity, such as 12 or 64Gi"))
			}
		}
	}
	return errs
}
