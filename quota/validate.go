package quota

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/internal/accelerator"
)

const (
	// maxTeams bounds the ledgers, each of which is counted every few seconds.
	maxTeams = 1000
	// maxAmount bounds limits, in devices and in units, so that sums of valid ones are exact.
	maxAmount = 1_000_000_000
	// maxWeight bounds what one unit counts as, in devices: a DeviceClass may stand for
	// a whole machine.
	maxWeight = 1000
	// maxShown is how much of a value an error quotes.
	maxShown = 64
)

func validate(in *v1alpha1.QuotaConfig) field.ErrorList {
	errs := validateClasses(field.NewPath("classes"), in.Classes)
	if len(in.Teams) > maxTeams {
		errs = append(errs, field.TooMany(field.NewPath("teams"), len(in.Teams), maxTeams))
	}
	teams, groups := map[string]*field.Path{}, map[string]*field.Path{}
	for i := range in.Teams {
		team, path := &in.Teams[i], field.NewPath("teams").Index(i)
		errs = append(errs, validateTeam(path, team)...)
		if first, ok := teams[team.Name]; ok {
			errs = append(errs, field.Invalid(path.Child("name"), shown(team.Name), fmt.Sprintf("is the name of %s already; give each team one entry", first)))
		} else {
			teams[team.Name] = path
		}
		errs = append(errs, validateGroups(path, team, groups)...)
		errs = append(errs, validateLimits(path.Child("limits"), &team.Limits, in.Classes)...)
	}
	return errs
}

func validateTeam(path *field.Path, team *v1alpha1.Team) field.ErrorList {
	var errs field.ErrorList
	for _, problem := range validation.IsDNS1123Label(team.Name) {
		errs = append(errs, field.Invalid(path.Child("name"), shown(team.Name), problem))
	}
	for _, label := range []struct{ name, value string }{{"owner", team.Owner}, {"costCenter", team.CostCenter}} {
		for _, problem := range validation.IsValidLabelValue(label.value) {
			errs = append(errs, field.Invalid(path.Child(label.name), shown(label.value), "becomes a label of pods: "+problem))
		}
	}
	switch team.Policy {
	case "", v1alpha1.QuotaReject, v1alpha1.QuotaQueue:
	default:
		errs = append(errs, field.NotSupported(path.Child("policy"), shown(string(team.Policy)), []v1alpha1.QuotaPolicy{v1alpha1.QuotaReject, v1alpha1.QuotaQueue}))
	}
	return errs
}

// validateGroups adds the team's groups to those that were seen.
func validateGroups(path *field.Path, team *v1alpha1.Team, seen map[string]*field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, group := range team.Groups {
		at := path.Child("groups").Index(i)
		switch first, ok := seen[group]; {
		case strings.TrimSpace(group) != group || group == "":
			errs = append(errs, field.Invalid(at, shown(group), "must not be empty, nor begin or end with a space"))
		case !ok:
			seen[group] = at
		case strings.HasPrefix(first.String(), path.String()+"."):
			errs = append(errs, field.Duplicate(at, shown(group)))
		default:
			errs = append(errs, field.Invalid(at, shown(group), fmt.Sprintf("overlaps with %s; a group is in one team", first)))
		}
	}
	return errs
}

func validateLimits(path *field.Path, limits *v1alpha1.QuotaLimits, classes Classes) field.ErrorList {
	var errs field.ErrorList
	if limits.Devices == nil && len(limits.Classes) == 0 {
		errs = append(errs, field.Required(path, "give devices, classes or both; devices: 0 lets the team hold nothing"))
	}
	if limits.Devices != nil {
		errs = append(errs, validateAmount(path.Child("devices"), *limits.Devices, 0, maxAmount)...)
	}
	for _, class := range slices.Sorted(maps.Keys(limits.Classes)) {
		at, units := path.Child("classes").Key(shown(class)), limits.Classes[class]
		if !accelerator.IsClass(class) && !classes.Known(class) {
			errs = append(errs, field.Invalid(at, shown(class), "is no accelerator class; use a resource name, such as nvidia.com/gpu, or "+
				resourceapi.ResourceDeviceClassPrefix+"NAME, and list that under classes"))
		}
		if units < 0 || units > maxAmount {
			errs = append(errs, field.Invalid(at, units, fmt.Sprintf("must be from 0 to %d", maxAmount)))
		}
	}
	return errs
}

func validateClasses(path *field.Path, classes Classes) field.ErrorList {
	var errs field.ErrorList
	for _, class := range slices.Sorted(maps.Keys(classes)) {
		at := path.Key(shown(class))
		if problem := problemOfClass(class); problem != "" {
			errs = append(errs, field.Invalid(at, shown(class), problem))
		}
		errs = append(errs, validateAmount(at.Child("devices"), classes[class].Devices, 1, maxWeight)...)
	}
	return errs
}

// problemOfClass says why a class cannot be listed; "" when it can.
func problemOfClass(class string) string {
	if name, ok := strings.CutPrefix(class, resourceapi.ResourceDeviceClassPrefix); ok {
		return strings.Join(validation.IsDNS1123Subdomain(name), ", ")
	}
	if !accelerator.IsClass(class) {
		return "is no accelerator; use a resource name, such as nvidia.com/gpu.shared, or " + resourceapi.ResourceDeviceClassPrefix + "NAME"
	}
	return strings.Join(validation.IsQualifiedName(class), ", ")
}

// validateAmount checks an amount of devices that is at least so many millionths and
// at most so many devices.
func validateAmount(path *field.Path, amount resource.Quantity, leastMicros, most int64) field.ErrorList {
	micros, exact := microsOf(amount)
	if micros >= leastMicros && micros <= most*wholeDevice && exact && amount.Sign() >= 0 {
		return nil
	}
	least := "0"
	if leastMicros > 0 {
		least = "0.000001"
	}
	return field.ErrorList{field.Invalid(path, amount.String(), fmt.Sprintf("must be from %s to %d devices, with at most 6 decimals", least, most))}
}

// amountForm is what amounts look like. Quantity's own parser takes any exponent, and
// then computes with numbers of a billion digits.
var amountForm = regexp.MustCompile(`^[+-]?[0-9.]{1,40}([eE][+-]?[0-9]{1,2}|[A-Za-z]{0,2})$`)

// badQuantities names the amounts that cannot be read: the decoder's own error does not
// say which of them it stopped at. It looks for them as the decoder does, wherever they
// are and in whatever case. Text that is wrong otherwise is left to the decoder.
func badQuantities(text []byte) field.ErrorList {
	var tree any
	if err := yaml.Unmarshal(text, &tree); err != nil {
		return nil
	}
	return badAmounts(nil, tree)
}

func badAmounts(path *field.Path, tree any) field.ErrorList {
	var errs field.ErrorList
	switch node := tree.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(node)) {
			at := path.Child(shown(key))
			if strings.Contains(key, "/") {
				at = path.Key(shown(key))
			}
			if strings.EqualFold(key, "devices") && !isAmount(node[key]) {
				errs = append(errs, field.Invalid(at, shown(fmt.Sprint(node[key])), "must be an amount, such as 8 or 0.25"))
				continue
			}
			errs = append(errs, badAmounts(at, node[key])...)
		}
	case []any:
		for i, item := range node {
			errs = append(errs, badAmounts(path.Index(i), item)...)
		}
	}
	return errs
}

func isAmount(value any) bool {
	if value == nil {
		return true
	}
	written := fmt.Sprint(value)
	if !amountForm.MatchString(written) {
		return false
	}
	_, err := resource.ParseQuantity(written)
	return err == nil
}

// shown is as much of a value as an error quotes.
func shown(value string) string {
	if len(value) <= maxShown {
		return value
	}
	return strings.ToValidUTF8(value[:maxShown], "") + "..."
}
