package quota

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"wastenot.dev/api/v1alpha1"
)

// Configure returns the team's ledger with what the configuration says about it, and
// whether that differs from what the ledger says now. Without a ledger it returns a new
// one, which nobody has counted for. A team that the configuration does not have keeps
// the ledger as it is, nil included.
func Configure(ledger *v1alpha1.QuotaLedger, cfg *Config, team string) (*v1alpha1.QuotaLedger, bool) {
	entry, ok := cfg.Team(team)
	if !ok {
		return ledger, false
	}
	spec := v1alpha1.QuotaLedgerSpec{ConfigHash: cfg.Hash(), Policy: entry.Policy, Limits: entry.Limits, Classes: cfg.Classes()}
	if ledger != nil && equality.Semantic.DeepEqual(ledger.Spec, spec) {
		return ledger, false
	}
	next := &v1alpha1.QuotaLedger{ObjectMeta: metav1.ObjectMeta{Name: team}}
	if ledger != nil {
		next = ledger.DeepCopy()
	}
	spec.DeepCopyInto(&next.Spec)
	if next.Status.AsOf != nil {
		refresh(next)
	}
	return next, true
}

// Used returns what the team uses, in units by class: what was committed and what is
// reserved.
func Used(ledger *v1alpha1.QuotaLedger) map[string]int64 {
	used := maps.Clone(ledger.Status.Committed)
	if used == nil {
		used = map[string]int64{}
	}
	for i := range ledger.Status.Reservations {
		addTo(used, ledger.Status.Reservations[i].Demand)
	}
	return used
}

// Held is a pod of the team that a count found.
type Held struct {
	UID types.UID
	// Demand is what it holds, in units by class: nothing for a pod that has ended, or
	// that a Queue team has waiting. Such a pod ends its reservation all the same.
	Demand map[string]int64
}

// Reconcile returns the ledger after a count: committed is what the pods hold, and a
// reservation whose pod was seen, or that expired tells to be over, is gone; nil tells
// that of none. The caller must have
//
//   - read the ledger from the API server before it listed the pods,
//   - listed them consistently, all of them,
//   - judged expiry as of a time before it listed them: a request that was alive then
//     may have stored its pod since, unseen, and
//   - write the result over the ledger that it read, or not at all.
//
// Where others have written meanwhile, the same list serves for the ledger as it then is,
// as long as that OnlyGrew.
func Reconcile(ledger *v1alpha1.QuotaLedger, held []Held, expired func(uid types.UID) bool, now time.Time) *v1alpha1.QuotaLedger {
	next := ledger.DeepCopy()
	committed, seen := map[string]int64{}, make(map[types.UID]bool, len(held))
	for _, pod := range held {
		seen[pod.UID] = true
		addTo(committed, pod.Demand)
	}
	next.Status.Committed = committed
	next.Status.Reservations = nil
	for _, r := range ledger.Status.Reservations {
		if over := seen[r.UID] || (expired != nil && expired(r.UID)); !over {
			next.Status.Reservations = append(next.Status.Reservations, *r.DeepCopy())
		}
	}
	next.Status.AsOf = &metav1.MicroTime{Time: now}
	next.Status.Counts++
	refresh(next)
	return next
}

// OnlyGrew tells whether nothing has happened to the ledger since but that reservations
// were added. Then a list of pods that was made between serves for it too: every pod
// that the list lacks still has its reservation. Without it a count could be kept from
// its end for as long as pods are admitted faster than they are listed.
func OnlyGrew(since, ledger *v1alpha1.QuotaLedger) bool {
	return ledger.UID == since.UID && ledger.Status.Counts == since.Status.Counts && equality.Semantic.DeepEqual(ledger.Spec, since.Spec)
}

// refresh brings the sum of devices in line, and what people read.
func refresh(ledger *v1alpha1.QuotaLedger) {
	used := Used(ledger)
	devices := Devices(used, ledger.Spec.Classes)
	ledger.Status.Devices = quantityOf(devices)
	ledger.Status.Use = useOf(&ledger.Spec, used, devices)
}

// maxUse is how many classes Use names.
const maxUse = 8

// useOf says what is used of each limit, and of what has none.
func useOf(spec *v1alpha1.QuotaLedgerSpec, used map[string]int64, devices int64) string {
	text := "devices " + decimal(devices)
	if spec.Limits.Devices != nil {
		limit, _ := microsOf(*spec.Limits.Devices)
		text += "/" + decimal(limit)
	}
	classes := map[string]bool{}
	for class := range spec.Limits.Classes {
		classes[class] = true
	}
	for class, count := range used {
		if count > 0 {
			classes[class] = true
		}
	}
	for i, class := range slices.Sorted(maps.Keys(classes)) {
		if i == maxUse {
			return fmt.Sprintf("%s, and %d more", text, len(classes)-maxUse)
		}
		text += fmt.Sprintf(", %s %d", class, used[class])
		if limit, ok := spec.Limits.Classes[class]; ok {
			text += fmt.Sprintf("/%d", limit)
		}
	}
	return text
}

// addTo adds units by class to a sum and saturates; counts that are not positive are none.
func addTo(sum, counts map[string]int64) {
	for class, count := range counts {
		if count > 0 {
			sum[class] = plus(sum[class], count)
		}
	}
}
