package health

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/internal/strictyaml"
)

// Policy is the complete policy by which readings are graded.
type Policy struct {
	// Probation is how long a clean reading must last until a finding ends.
	Probation time.Duration
	// ThrottleSuspect and ThrottleDegraded are how long hardware must hold the clock
	// down until it counts.
	ThrottleSuspect, ThrottleDegraded time.Duration
	// PCIeReplaysPerMinute is the rate above which a device is Suspect.
	PCIeReplaysPerMinute float64
	// XID holds the rule of each code.
	XID map[int]XIDRule
}

// DefaultPolicy returns the policy that is shipped.
func DefaultPolicy() (*Policy, error) {
	rules, err := loadXIDTable(xidTable)
	if err != nil {
		return nil, err
	}
	return &Policy{
		Probation: 10 * time.Minute, ThrottleSuspect: 30 * time.Second, ThrottleDegraded: 10 * time.Minute,
		PCIeReplaysPerMinute: 60, XID: rules,
	}, nil
}

// ParsePolicy reads health.yaml over the defaults. Unknown fields, bad values and
// unknown grades are all reported, each with its path.
func ParsePolicy(text []byte) (*Policy, error) {
	var in v1alpha1.HealthPolicy
	if err := strictyaml.Unmarshal(text, &in); err != nil {
		if errs := badDurations(text); len(errs) > 0 {
			err = errs.ToAggregate()
		}
		return nil, fmt.Errorf("decoding the health policy: %w", err)
	}
	policy, err := DefaultPolicy()
	if err != nil {
		return nil, err
	}
	if errs := policy.override(in); len(errs) > 0 {
		return nil, fmt.Errorf("validating the health policy: %w", errs.ToAggregate())
	}
	return policy, nil
}

func (p *Policy) override(in v1alpha1.HealthPolicy) field.ErrorList {
	var errs field.ErrorList
	set := func(path *field.Path, from *metav1.Duration, to *time.Duration) {
		if from == nil {
			return
		}
		if from.Duration <= 0 {
			errs = append(errs, field.Invalid(path, from.Duration.String(), "must be positive, such as 10m"))
		}
		*to = from.Duration
	}
	set(field.NewPath("probation"), in.Probation, &p.Probation)
	throttle := field.NewPath("throttle")
	set(throttle.Child("suspectAfter"), in.Throttle.SuspectAfter, &p.ThrottleSuspect)
	set(throttle.Child("degradedAfter"), in.Throttle.DegradedAfter, &p.ThrottleDegraded)
	if p.ThrottleDegraded < p.ThrottleSuspect {
		errs = append(errs, field.Invalid(throttle.Child("degradedAfter"), p.ThrottleDegraded.String(), "must not be shorter than suspectAfter ("+p.ThrottleSuspect.String()+")"))
	}
	if in.PCIeReplaysPerMinute != nil {
		if *in.PCIeReplaysPerMinute <= 0 {
			errs = append(errs, field.Invalid(field.NewPath("pcieReplaysPerMinute"), *in.PCIeReplaysPerMinute, "must be positive"))
		}
		p.PCIeReplaysPerMinute = float64(*in.PCIeReplaysPerMinute)
	}
	for _, key := range slices.Sorted(maps.Keys(in.XID)) {
		errs = append(errs, p.overrideXID(field.NewPath("xid").Key(key), key, in.XID[key])...)
	}
	return errs
}

func (p *Policy) overrideXID(path *field.Path, key string, in v1alpha1.XIDPolicy) field.ErrorList {
	code, err := strconv.Atoi(key)
	if err != nil || code <= 0 || strconv.Itoa(code) != key {
		return field.ErrorList{field.Invalid(path, key, "must be an XID code, such as 79")}
	}
	var errs field.ErrorList
	grades := []v1alpha1.Grade{v1alpha1.GradeHealthy, v1alpha1.GradeSuspect, v1alpha1.GradeDegraded, v1alpha1.GradeFailed}
	if !slices.Contains(grades, in.Grade) {
		errs = append(errs, field.NotSupported(path.Child("grade"), in.Grade, grades))
	}
	rule := p.rule(code)
	rule.Grade = in.Grade
	if in.Action != "" {
		if !slices.Contains(allActions, in.Action) {
			errs = append(errs, field.NotSupported(path.Child("action"), in.Action, allActions))
		}
		rule.Action = in.Action
	}
	p.XID[code] = rule
	return errs
}

// badDurations names the durations that cannot be read: the decoder's own error does
// not say which of them it stopped at.
func badDurations(text []byte) field.ErrorList {
	var in struct {
		Probation any            `json:"probation"`
		Throttle  map[string]any `json:"throttle"`
	}
	if err := yaml.Unmarshal(text, &in); err != nil {
		return nil
	}
	var errs field.ErrorList
	for _, d := range []struct {
		path  *field.Path
		value any
	}{
		{field.NewPath("probation"), in.Probation},
		{field.NewPath("throttle", "suspectAfter"), in.Throttle["suspectAfter"]},
		{field.NewPath("throttle", "degradedAfter"), in.Throttle["degradedAfter"]},
	} {
		if d.value == nil {
			continue
		}
		written, isText := d.value.(string)
		if _, err := time.ParseDuration(written); !isText || err != nil {
			errs = append(errs, field.Invalid(d.path, d.value, "must be a duration, such as 10m"))
		}
	}
	return errs
}

var allActions = []v1alpha1.Action{
	v1alpha1.ActionNone, v1alpha1.ActionRestartApp, v1alpha1.ActionResetDevice, v1alpha1.ActionRestartDriver,
	v1alpha1.ActionRebootNode, v1alpha1.ActionReplaceDevice, v1alpha1.ActionInspectLink, v1alpha1.ActionContactSupport,
}
