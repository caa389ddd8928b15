package placement

import (
	"cmp"
	"slices"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/internal/accelerator"
	"wastenot.dev/internal/fleet"
)

// tier orders devices by how much one would want them; higher is better. Unknown
// lies below Healthy, so it never wins against a device known to be good, and above
// those against which something is known.
type tier int64

const (
	tierDegraded tier = iota
	tierSuspect
	tierUnknown
	tierHealthy
	tierCount
)

func tierOf(grade v1alpha1.Grade) tier {
	switch grade {
	case v1alpha1.GradeHealthy:
		return tierHealthy
	case v1alpha1.GradeSuspect:
		return tierSuspect
	case v1alpha1.GradeDegraded, v1alpha1.GradeFailed:
		// A Failed device gets here only when an operator released it.
		return tierDegraded
	default:
		return tierUnknown
	}
}

// Tier is how much speaks against the devices of the node that the request may get: 0 is
// nothing, more is worse. The kubelet may pick any of them, so the worst fit one counts.
func Tier(v *View, want accelerator.Request) int8 {
	return int8(tierHealthy - v.worstTier(want))
}

// Ranked is one device in the order in which it should be given out.
type Ranked struct {
	UUID, Index string
	// Fit is false for a device that must not be given out; those come last.
	Fit bool
	// Why says what put the device where it is.
	Why string

	tier tier
}

// Rank orders the node's devices for the request, best first: fit before unfit,
// then by grade, then by UUID so that the order is the same everywhere.
func Rank(v *View, want accelerator.Request) []Ranked {
	if v.Node == nil {
		return nil
	}
	var ranked []Ranked
	for i := range v.Node.Devices {
		d := &v.Node.Devices[i]
		if v.serves(d, want) {
			ranked = append(ranked, v.ranked(d))
		}
	}
	slices.SortStableFunc(ranked, func(a, b Ranked) int {
		if a.Fit != b.Fit {
			if a.Fit {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(b.tier, a.tier), cmp.Compare(a.UUID, b.UUID))
	})
	return ranked
}

func (v *View) ranked(d *fleet.Device) Ranked {
	r := Ranked{UUID: d.UUID, Index: d.Index, Fit: !v.unfit(d), tier: tierOf(v.grade(d))}
	switch grade := v.grade(d); {
	case !r.Fit:
		r.Why = v.explain(d).Reason
	case v.Stale:
		r.Why = "telemetry is silent"
	case len(d.Reasons) > 0:
		r.Why = string(grade) + ": " + d.Reasons[0].Code
	default:
		r.Why = string(grade)
	}
	return r
}
