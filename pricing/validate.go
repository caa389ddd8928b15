package pricing

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/internal/accelerator"
)

var currencyCode = regexp.MustCompile(`^[A-Z]{3}$`)

// validateHead checks what is not a rule.
func validateHead(in v1alpha1.PriceBook) field.ErrorList {
	var errs field.ErrorList
	if in.Currency != "" && !currencyCode.MatchString(in.Currency) {
		errs = append(errs, field.Invalid(field.NewPath("currency"), in.Currency, "must be an ISO 4217 code of three capital letters, such as USD"))
	}
	switch in.BuiltIn {
	case "", v1alpha1.BuiltInUse:
		if in.Currency != "" && in.Currency != usd {
			errs = append(errs, field.Invalid(field.NewPath("currency"), in.Currency, "the built-in list is in USD; set builtIn: Ignore and price nodes by rules, or leave out currency"))
		}
	case v1alpha1.BuiltInIgnore:
	default:
		errs = append(errs, field.NotSupported(field.NewPath("builtIn"), in.BuiltIn, []v1alpha1.BuiltInPrices{v1alpha1.BuiltInUse, v1alpha1.BuiltInIgnore}))
	}
	return errs
}

// compile turns the rules into what prices are found in, and returns every error.
func compile(in []v1alpha1.PriceRule) ([]rule, field.ErrorList) {
	rules := make([]rule, len(in))
	var errs field.ErrorList
	earlier := map[string][]*rule{}
	for i := range in {
		path := field.NewPath("rules").Index(i)
		compiled, ruleErrs := compileRule(path, in[i])
		compiled.index, compiled.name = i, v1alpha1.PricesKey+" "+path.String()
		rules[i] = compiled
		if len(ruleErrs) > 0 {
			errs = append(errs, ruleErrs...)
			continue
		}
		key := compiled.matcher()
		errs = append(errs, shadowed(path, &rules[i], earlier[key])...)
		earlier[key] = append(earlier[key], &rules[i])
	}
	return rules, errs
}

func compileRule(path *field.Path, in v1alpha1.PriceRule) (rule, field.ErrorList) {
	r := rule{
		selector: in.NodeSelector, instanceType: in.InstanceType, product: in.Product, region: in.Region,
		devices: in.Devices, source: in.Source, effectiveFrom: in.EffectiveFrom,
	}
	errs := validateMatcher(path, in)
	errs = append(errs, r.setPrice(path, in)...)
	return r, append(errs, r.setDates(path, in)...)
}

func validateMatcher(path *field.Path, in v1alpha1.PriceRule) field.ErrorList {
	given := given(map[string]bool{"nodeSelector": len(in.NodeSelector) > 0, "instanceType": in.InstanceType != "", "product": in.Product != ""})
	var errs field.ErrorList
	switch len(given) {
	case 0:
		errs = append(errs, field.Required(path, "must match nodes by one of nodeSelector, instanceType and product"))
	case 1:
	default:
		errs = append(errs, field.Invalid(path, strings.Join(given, ", "), "must match nodes by one of these; put the others into a nodeSelector or a rule of their own"))
	}
	errs = append(errs, validateSelector(path.Child("nodeSelector"), in.NodeSelector)...)
	for name, value := range map[string]string{"instanceType": in.InstanceType, "product": in.Product, "region": in.Region} {
		errs = append(errs, validateValue(path.Child(name), value)...)
	}
	if bare := accelerator.StripProduct(in.Product); bare != in.Product {
		errs = append(errs, field.Invalid(path.Child("product"), in.Product, fmt.Sprintf("must be without what sharing or MIG append; write %q", bare)))
	}
	if in.Region != "" && len(in.NodeSelector) > 0 {
		errs = append(errs, field.Invalid(path.Child("region"), in.Region, "does not narrow a nodeSelector; put "+labelRegion+" into the nodeSelector"))
	}
	slices.SortStableFunc(errs, func(a, b *field.Error) int { return strings.Compare(a.Field, b.Field) })
	return errs
}

func validateSelector(path *field.Path, selector map[string]string) field.ErrorList {
	var errs field.ErrorList
	for _, key := range slices.Sorted(maps.Keys(selector)) {
		for _, message := range validation.IsQualifiedName(key) {
			errs = append(errs, field.Invalid(path.Key(key), key, "must be a label's key, such as node.example.com/pool: "+message))
		}
		errs = append(errs, validateValue(path.Key(key), selector[key])...)
	}
	return errs
}

// validateValue refuses what no node's label can be.
func validateValue(path *field.Path, value string) field.ErrorList {
	var errs field.ErrorList
	for _, message := range validation.IsValidLabelValue(value) {
		errs = append(errs, field.Invalid(path, value, "must be what a node's label can say: "+message))
	}
	return errs
}

func (r *rule) setPrice(path *field.Path, in v1alpha1.PriceRule) field.ErrorList {
	var errs field.ErrorList
	given := given(map[string]bool{"perInstanceHour": in.PerInstanceHour != "", "perDeviceHour": in.PerDeviceHour != ""})
	switch len(given) {
	case 0:
		errs = append(errs, field.Required(path, "must have a price: perInstanceHour or perDeviceHour, such as 6.88; leave out the rule of what is not known"))
	case 2:
		errs = append(errs, field.Invalid(path, strings.Join(given, ", "), "must have one price; keep perInstanceHour, which is divided by devices, or perDeviceHour"))
	}
	r.perDevice = in.PerDeviceHour != ""
	for _, amount := range []struct {
		name  string
		value v1alpha1.Amount
	}{{"perInstanceHour", in.PerInstanceHour}, {"perDeviceHour", in.PerDeviceHour}} {
		if amount.value == "" {
			continue
		}
		micros, err := ParseAmount(string(amount.value))
		switch {
		case err != nil:
			errs = append(errs, field.Invalid(path.Child(amount.name), string(amount.value), err.Error()))
		case micros == 0:
			errs = append(errs, field.Invalid(path.Child(amount.name), string(amount.value), "must not be zero; leave out the rule of what is not known"))
		}
		r.micros = micros
	}
	switch devices := path.Child("devices"); {
	case in.Devices < 0:
		errs = append(errs, field.Invalid(devices, in.Devices, "must be positive, or left out for what the node has"))
	case in.Devices > 0 && in.PerDeviceHour != "":
		errs = append(errs, field.Invalid(devices, in.Devices, "divides perInstanceHour; leave it out beside perDeviceHour"))
	}
	return errs
}

func (r *rule) setDates(path *field.Path, in v1alpha1.PriceRule) field.ErrorList {
	var errs field.ErrorList
	parse := func(name, text string) time.Time {
		if text == "" {
			return time.Time{}
		}
		day, err := time.Parse(dateLayout, text)
		if err != nil {
			errs = append(errs, field.Invalid(path.Child(name), text, "must be a day such as 2026-11-30"))
		}
		return day
	}
	r.from, r.until = parse("effectiveFrom", in.EffectiveFrom), parse("effectiveTo", in.EffectiveTo)
	if len(errs) > 0 || in.EffectiveTo == "" {
		return errs
	}
	if r.until.Before(r.from) {
		errs = append(errs, field.Invalid(path.Child("effectiveTo"), in.EffectiveTo, "must not be before effectiveFrom, "+in.EffectiveFrom+"; exchange them"))
	}
	r.until = r.until.AddDate(0, 0, 1)
	return errs
}

// matcher tells rules apart that can match different nodes, regions aside.
func (r *rule) matcher() string {
	// fmt writes maps in the order of their keys; label values hold no spaces.
	return fmt.Sprintf("%v %q %q", r.selector, r.instanceType, r.product)
}

// shadowed says which of the earlier rules with the same matcher keeps a rule from
// applying, or leaves open which of both was meant.
func shadowed(path *field.Path, r *rule, earlier []*rule) field.ErrorList {
	for _, other := range earlier {
		switch before := fmt.Sprintf("rules[%d]", other.index); {
		case r.region == other.region && r.overlaps(other):
			return field.ErrorList{field.Invalid(path, r.describe(), "matches the same nodes as "+before+" at the same time; remove one, or end one by effectiveTo before the other begins")}
		case other.region == "" && other.covers(r):
			return field.ErrorList{field.Invalid(path, r.describe(), "can never apply, as "+before+" matches the same nodes in every region; move it before "+before)}
		}
	}
	return nil
}

func (r *rule) describe() string {
	text := r.instanceType + r.product
	for _, key := range slices.Sorted(maps.Keys(r.selector)) {
		text = strings.TrimPrefix(text+","+key+"="+r.selector[key], ",")
	}
	return strings.TrimSuffix(text+" "+r.region, " ")
}

// given returns the names that are set, in order.
func given(names map[string]bool) []string {
	maps.DeleteFunc(names, func(_ string, set bool) bool { return !set })
	return slices.Sorted(maps.Keys(names))
}
