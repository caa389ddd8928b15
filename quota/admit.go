package quota

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"wastenot.dev/api/v1alpha1"
)

// MaxReservations bounds the reservations of one ledger, so that it stays an object
// that the API server stores whatever was created at once.
const MaxReservations = 1000

// ErrNoTeam tells that a team is not in the configuration and has no ledger.
var ErrNoTeam = errors.New("the team is not in the quota configuration")

// Want is a pod that is being created.
type Want struct {
	// UID is the pod's; it is set when the validating phase runs.
	UID types.UID
	// Namespace and Name are the pod's, for people. A generated name may be empty.
	Namespace, Name string
	// Demand is what the pod asks for, in units by class.
	Demand map[string]int64
}

// Outcome is what a ledger says about a pod.
type Outcome int

const (
	// Over: the team holds too much, or the pod wants more than the team may ever hold.
	// It is the zero value, so that what was not judged is not let in.
	Over Outcome = iota
	// Busy: it would fit but for reservations, some of which may come to nothing.
	Busy
	// Fits: the pod fits and was added to the reservations, or would be.
	Fits
	// Known: the pod has its reservation already.
	Known
)

// String returns the name of the outcome.
func (o Outcome) String() string {
	switch o {
	case Over:
		return "Over"
	case Busy:
		return "Busy"
	case Fits:
		return "Fits"
	case Known:
		return "Known"
	default:
		return fmt.Sprintf("Outcome(%d)", int(o))
	}
}

// Verdict is the answer to a Want.
type Verdict struct {
	Outcome Outcome
	// Shortages are the limits that are in the way, for Over and Busy. A ledger with
	// MaxReservations is Busy without any.
	Shortages []Shortage
	// Committed, Reserved and Limit sum the team up without the pod, in millionths of a
	// device. Limit is negative where devices are not limited.
	Committed, Reserved, Limit int64
}

// NeverFits tells whether the pod alone is more than a limit, so that waiting is of no use.
func (v Verdict) NeverFits() bool {
	return slices.ContainsFunc(v.Shortages, func(s Shortage) bool { return s.Want > s.Limit })
}

// Admitted tells whether the pod has, or would have, its reservation.
func (v Verdict) Admitted() bool { return v.Outcome == Fits || v.Outcome == Known }

// String says what is in the way; "" for a pod that is admitted.
func (v Verdict) String() string {
	if v.Admitted() {
		return ""
	}
	if len(v.Shortages) == 0 {
		return fmt.Sprintf("%d pods of the team are still being created", MaxReservations)
	}
	texts := make([]string, len(v.Shortages))
	for i, s := range v.Shortages {
		texts[i] = s.String()
	}
	return strings.Join(texts, "; ")
}

// Admit judges the pod and, when it fits, returns the ledger with its reservation; else
// the ledger that it was given. It never changes that, but what it returns shares with
// it, so neither may be changed afterwards. A pod that has a reservation is
// not counted twice, however often the API server asks. Should its demand have grown
// between two times, as when a webhook that ran later raised it, what it grew by must
// fit, and the reservation holds the larger of both by class. A pod that wants nothing
// fits without a reservation.
func Admit(ledger *v1alpha1.QuotaLedger, want Want, now time.Time) (*v1alpha1.QuotaLedger, Verdict) {
	verdict := Check(ledger, want)
	if verdict.Outcome != Fits || !wantsAny(want.Demand) {
		return ledger, verdict
	}
	next := *ledger // What is not replaced below is shared: a batch makes many of these.
	if r := reservation(ledger, want.UID); r != nil {
		next.Status.Reservations = slices.Clone(ledger.Status.Reservations)
		reservation(&next, want.UID).Demand = larger(r.Demand, want.Demand)
	} else {
		next.Status.Reservations = append(slices.Clip(ledger.Status.Reservations), v1alpha1.QuotaReservation{
			UID: want.UID, Namespace: want.Namespace, Name: want.Name,
			Demand: larger(nil, want.Demand), At: metav1.MicroTime{Time: now},
		})
	}
	refresh(&next)
	return &next, verdict
}

// Check is Admit's verdict: what becomes of the pod, without a reservation.
func Check(ledger *v1alpha1.QuotaLedger, want Want) Verdict {
	used := Used(ledger)
	verdict := summary(ledger, used)
	demand := want.Demand
	known := reservation(ledger, want.UID)
	if known != nil {
		if demand = growth(known.Demand, want.Demand); len(demand) == 0 {
			verdict.Outcome = Known
			return verdict
		}
	}
	full := known == nil && wantsAny(demand) && len(ledger.Status.Reservations) >= MaxReservations
	verdict.Shortages = Judge(&ledger.Spec, used, demand)
	switch {
	case len(verdict.Shortages) == 0 && !full:
		verdict.Outcome = Fits
		return verdict
	case len(Judge(&ledger.Spec, ledger.Status.Committed, larger(demand, want.Demand))) == 0:
		verdict.Outcome = Busy
	default:
		verdict.Outcome = Over
	}
	for i := range verdict.Shortages {
		s := &verdict.Shortages[i]
		s.Reserved = verdict.Reserved
		if s.Class != DevicesClass {
			s.Reserved = s.Held - max(ledger.Status.Committed[s.Class], 0)
		}
	}
	return verdict
}

// summary is a verdict of Over with the sums.
func summary(ledger *v1alpha1.QuotaLedger, used map[string]int64) Verdict {
	verdict := Verdict{Committed: Devices(ledger.Status.Committed, ledger.Spec.Classes), Limit: -1}
	verdict.Reserved = Devices(used, ledger.Spec.Classes) - verdict.Committed
	if ledger.Spec.Limits.Devices != nil {
		verdict.Limit, _ = microsOf(*ledger.Spec.Limits.Devices)
	}
	return verdict
}

// reservation finds the pod's reservation; nil where it has none.
func reservation(ledger *v1alpha1.QuotaLedger, uid types.UID) *v1alpha1.QuotaReservation {
	for i := range ledger.Status.Reservations {
		if ledger.Status.Reservations[i].UID == uid {
			return &ledger.Status.Reservations[i]
		}
	}
	return nil
}

// growth is what want has beyond had, by class.
func growth(had, want map[string]int64) map[string]int64 {
	more := map[string]int64{}
	for class, count := range want {
		if grown := count - max(had[class], 0); count > 0 && grown > 0 {
			more[class] = grown
		}
	}
	return more
}

// larger is the greater of both by class, without what is not positive.
func larger(a, b map[string]int64) map[string]int64 {
	most := map[string]int64{}
	for _, counts := range []map[string]int64{a, b} {
		for class, count := range counts {
			if count > 0 {
				most[class] = max(most[class], count)
			}
		}
	}
	return most
}

func wantsAny(demand map[string]int64) bool {
	for count := range maps.Values(demand) {
		if count > 0 {
			return true
		}
	}
	return false
}
