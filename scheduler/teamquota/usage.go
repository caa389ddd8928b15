package teamquota

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"wastenot.dev/quota"
)

// usage counts what pods hold that are bound or being bound, by namespace.
type usage struct {
	mu         sync.Mutex
	pods       map[types.UID]holding
	namespaces map[string]map[string]int64
}

// holding is what one pod holds, in units by class.
type holding struct {
	namespace string
	counts    map[string]int64
}

func newUsage() *usage {
	return &usage{pods: map[types.UID]holding{}, namespaces: map[string]map[string]int64{}}
}

// put enters a pod, or replaces what it was entered with.
func (u *usage) put(uid types.UID, h holding) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.set(uid, h)
}

// remove takes a pod out, and tells whether it was in.
func (u *usage) remove(uid types.UID) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	_, found := u.pods[uid]
	u.set(uid, holding{})
	return found
}

// judge says what stands against adding the pod to what the namespaces hold.
func (u *usage) judge(uid types.UID, want holding, s subject) []quota.Shortage {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.shortages(uid, want, s)
}

// reserve adds the pod unless something stands against it, as one step.
func (u *usage) reserve(uid types.UID, want holding, s subject) []quota.Shortage {
	u.mu.Lock()
	defer u.mu.Unlock()
	shortages := u.shortages(uid, want, s)
	if len(shortages) == 0 {
		u.set(uid, want)
	}
	return shortages
}

// shortages is judge with the lock held. What the pod itself was entered with does not
// count against it.
func (u *usage) shortages(uid types.UID, want holding, s subject) []quota.Shortage {
	own := u.pods[uid]
	used := map[string]int64{}
	for _, namespace := range s.namespaces {
		for class, count := range u.namespaces[namespace] {
			used[class] += count
		}
		if own.namespace == namespace {
			for class, count := range own.counts {
				used[class] -= count
			}
		}
	}
	return quota.Judge(s.spec, used, want.counts)
}

// set is put with the lock held; an empty holding removes.
func (u *usage) set(uid types.UID, h holding) {
	if old, found := u.pods[uid]; found {
		add(u.namespaces, old, -1)
		delete(u.pods, uid)
	}
	if len(h.counts) > 0 {
		u.pods[uid] = h
		add(u.namespaces, h, 1)
	}
}

func add(namespaces map[string]map[string]int64, h holding, sign int64) {
	sums := namespaces[h.namespace]
	if sums == nil {
		sums = map[string]int64{}
		namespaces[h.namespace] = sums
	}
	for class, count := range h.counts {
		if sums[class] += sign * count; sums[class] == 0 {
			delete(sums, class)
		}
	}
	if len(sums) == 0 {
		delete(namespaces, h.namespace)
	}
}
