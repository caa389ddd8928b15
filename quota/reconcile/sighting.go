package reconcile

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"wastenot.dev/api/v1alpha1"
)

// lifetime is how long after this process first saw a reservation its pod is stored or
// never will be: longer than the 34 s that the API server lets a request live by
// default, with room for a storage that answers late.
const lifetime = 60 * time.Second

// sightings are when this process first saw each reservation, by team and pod. What the
// reservation itself says is another's clock, and that may be wrong.
type sightings map[string]map[types.UID]time.Time

// see remembers the ledger's reservations and forgets others, and tells whether it saw
// one for the first time.
func (c *Controller) see(ledger *v1alpha1.QuotaLedger) bool {
	now, fresh := c.clock.Now(), false
	seen := make(map[types.UID]time.Time, len(ledger.Status.Reservations))
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range ledger.Status.Reservations {
		uid := ledger.Status.Reservations[i].UID
		first, ok := c.sightings[ledger.Name][uid]
		if !ok {
			first, fresh = now, true
		}
		seen[uid] = first
	}
	c.sightings[ledger.Name] = seen
	return fresh
}

// over returns the reservations of the ledger whose life was over at the time.
func (c *Controller) over(ledger *v1alpha1.QuotaLedger, at time.Time) sets.Set[types.UID] {
	c.mu.Lock()
	defer c.mu.Unlock()
	over := sets.New[types.UID]()
	for i := range ledger.Status.Reservations {
		uid := ledger.Status.Reservations[i].UID
		if first, ok := c.sightings[ledger.Name][uid]; ok && at.Sub(first) >= lifetime {
			over.Insert(uid)
		}
	}
	return over
}
