package quarantine

import (
	"slices"
	"strings"

	"wastenot.dev/api/v1alpha1"
)

// Set is every quarantine at one moment, by node. It is immutable.
type Set struct {
	byNode map[string][]Entry
	// version grows with every change of what is kept away.
	version uint64
}

// Entry is one quarantine in the form that decisions read.
type Entry struct {
	UUID, Model, Reason string
	Action              v1alpha1.Action
	// Detail is the gravest evidence, for messages.
	Detail string
	// Released tells that an operator gave the device back although it still fails.
	Released bool
	// VendorExcludes tells that the vendor's device plugin takes the device out of
	// allocatable by itself.
	VendorExcludes bool
}

// OnNode returns the quarantines on the node, in order of UUID.
func (s *Set) OnNode(name string) []Entry { return s.byNode[name] }

// Version identifies the content: equal versions of one process hold equal entries.
func (s *Set) Version() uint64 { return s.version }

// NewSet builds a set from the objects; those being deleted are left out.
func NewSet(quarantines []*v1alpha1.Quarantine, version uint64) *Set {
	set := &Set{byNode: map[string][]Entry{}, version: version}
	for _, q := range quarantines {
		if q.DeletionTimestamp != nil {
			continue
		}
		entry := Entry{
			UUID: q.Spec.UUID, Model: q.Spec.Model, Reason: q.Spec.Reason, Action: q.Spec.Action,
			Released: q.Spec.Release != nil, VendorExcludes: q.Status.VendorExcludes,
		}
		if len(q.Status.Evidence) > 0 {
			entry.Detail = q.Status.Evidence[0].Detail
		}
		set.byNode[q.Spec.Node] = append(set.byNode[q.Spec.Node], entry)
	}
	for _, entries := range set.byNode {
		slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.UUID, b.UUID) })
	}
	return set
}

// Lifted tells whether a device that old kept away is no longer kept away.
func Lifted(old, current *Set) bool {
	for node, entries := range old.byNode {
		for i := range entries {
			if !entries[i].Released && !current.keepsAway(node, entries[i].UUID) {
				return true
			}
		}
	}
	return false
}

func (s *Set) keepsAway(node, uuid string) bool {
	for i := range s.byNode[node] {
		if s.byNode[node][i].UUID == uuid {
			return !s.byNode[node][i].Released
		}
	}
	return false
}
