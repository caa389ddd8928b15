package reconcile

import (
	"maps"
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

// Stored says that the API server has, or had, the pod: whatever a list that is made
// from now on does not show of it is gone, so its reservation need not wait out its life.
func (c *Controller) Stored(uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stored[uid] = c.clock.Now()
}

// over returns the reservations of the ledger that were over at the time: of pods that
// had been stored by then, or whose life had passed.
func (c *Controller) over(ledger *v1alpha1.QuotaLedger, at time.Time) sets.Set[types.UID] {
	c.mu.Lock()
	defer c.mu.Unlock()
	over := sets.New[types.UID]()
	for i := range ledger.Status.Reservations {
		uid := ledger.Status.Reservations[i].UID
		first, seen := c.sightings[ledger.Name][uid]
		_, stored := c.stored[uid]
		if stored || (seen && at.Sub(first) >= lifetime) {
			over.Insert(uid)
		}
	}
	return over
}

// forget drops what was stored so long ago that no reservation can be left of it.
func (c *Controller) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.stored, func(_ types.UID, at time.Time) bool { return c.clock.Since(at) > 2*lifetime })
}
