package teamquota

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"wastenot.dev/quota"
)

// usage counts what pods hold, by namespace.
type usage struct {
	mu   sync.Mutex
	pods map[types.UID]holding
	// firm is what is bound or reserved; passing is what was let through to be scheduled.
	firm, passing sums
}

// sums are units by namespace and class.
type sums map[string]map[string]int64

// step is how far a pod has come.
type step int

const (
	// passing: let through to be scheduled. It counts against others that want to be let
	// through, for a while.
	passing step = iota
	// reserved: being bound.
	reserved
	// bound: its node is in the API server.
	bound
)

// holding is what one pod holds, in units by class.
type holding struct {
	namespace string
	counts    map[string]int64
	step      step
	// until is when one that passes counts no more.
	until time.Time
}

func newUsage() *usage { return &usage{pods: map[types.UID]holding{}, firm: sums{}, passing: sums{}} }

// put enters a pod, or replaces what it was entered with.
func (u *usage) put(uid types.UID, h holding) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.set(uid, h)
}

// has returns what the pod was entered with.
func (u *usage) has(uid types.UID) (holding, bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	h, found := u.pods[uid]
	return h, found
}

// remove takes a pod out, and tells whether it was in.
func (u *usage) remove(uid types.UID) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.drop(uid)
}

// release takes a pod out that was not bound, and tells whether it was in. A binding that
// seems to have failed may have been stored.
func (u *usage) release(uid types.UID) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.pods[uid].step == bound {
		return false
	}
	return u.drop(uid)
}

// pass lets the pod through unless something stands against adding it to all that the
// namespaces hold, what was let through before included.
func (u *usage) pass(uid types.UID, want holding, s subject) []quota.Shortage {
	u.mu.Lock()
	defer u.mu.Unlock()
	shortages := u.shortages(uid, want, s, u.firm, u.passing)
	if len(shortages) == 0 && u.pods[uid].step == passing {
		u.set(uid, want)
	}
	return shortages
}

// reserve adds the pod unless something stands against adding it to what is bound and
// reserved, as one step.
func (u *usage) reserve(uid types.UID, want holding, s subject) []quota.Shortage {
	u.mu.Lock()
	defer u.mu.Unlock()
	shortages := u.shortages(uid, want, s, u.firm)
	if len(shortages) == 0 {
		u.set(uid, want)
	}
	return shortages
}

// expire takes out what was let through and has not come on since, and returns the
// namespaces of it.
func (u *usage) expire(now time.Time) map[string]bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	namespaces := map[string]bool{}
	for uid, h := range u.pods {
		if h.step == passing && now.After(h.until) {
			namespaces[h.namespace] = true
			u.drop(uid)
		}
	}
	return namespaces
}

// shortages says what stands against the pod, with the lock held. What the pod itself was
// entered with does not count against it.
func (u *usage) shortages(uid types.UID, want holding, s subject, of ...sums) []quota.Shortage {
	own, entered := u.pods[uid]
	if entered {
		u.drop(uid)
		defer u.set(uid, own)
	}
	used := map[string]int64{}
	for _, held := range of {
		for _, namespace := range s.namespaces {
			for class, count := range held[namespace] {
				used[class] += count
			}
		}
	}
	return quota.Judge(s.spec, used, want.counts)
}

// set is put with the lock held; an empty holding removes.
func (u *usage) set(uid types.UID, h holding) {
	u.drop(uid)
	if len(h.counts) > 0 {
		u.pods[uid] = h
		u.sumsOf(h.step).add(h, 1)
	}
}

// drop is remove with the lock held.
func (u *usage) drop(uid types.UID) bool {
	h, found := u.pods[uid]
	if found {
		u.sumsOf(h.step).add(h, -1)
		delete(u.pods, uid)
	}
	return found
}

func (u *usage) sumsOf(s step) sums {
	if s == passing {
		return u.passing
	}
	return u.firm
}

func (s sums) add(h holding, sign int64) {
	byClass := s[h.namespace]
	if byClass == nil {
		byClass = map[string]int64{}
		s[h.namespace] = byClass
	}
	for class, count := range h.counts {
		if byClass[class] += sign * count; byClass[class] == 0 {
			delete(byClass, class)
		}
	}
	if len(byClass) == 0 {
		delete(s, h.namespace)
	}
}
