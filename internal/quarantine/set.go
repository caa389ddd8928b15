package quarantine

import (
	"cmp"
	"maps"
	"slices"

	"wastenot.dev/api/v1alpha1"
)

// Set is every quarantine at one moment, by node. It is immutable.
type Set struct {
	byNode map[string][]Entry
	// version grows with every change of what is kept away.
	version uint64
}

// Entry is what is kept of one device in the form that decisions read.
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

// Nodes returns the names of the nodes with quarantines, in no order.
func (s *Set) Nodes() []string { return slices.Collect(maps.Keys(s.byNode)) }

// OnNode returns the node's quarantined devices, in order of UUID.
func (s *Set) OnNode(name string) []Entry { return s.byNode[name] }

// Version identifies the content: equal versions of one process hold equal entries.
// Of an Informer's sets, the one from before the first list has version 0.
func (s *Set) Version() uint64 { return s.version }

// NewSet builds a set from the objects; those being deleted are left out. Several
// quarantines of one device make one entry, which is released only when all of them
// are: what telemetry gives back, an operator may still keep away.
func NewSet(quarantines []*v1alpha1.Quarantine, version uint64) *Set {
	set := &Set{byNode: map[string][]Entry{}, version: version}
	ordered := slices.SortedFunc(slices.Values(quarantines), func(a, b *v1alpha1.Quarantine) int {
		return cmp.Or(cmp.Compare(a.Spec.UUID, b.Spec.UUID), cmp.Compare(a.Name, b.Name))
	})
	for _, q := range ordered {
		if q.DeletionTimestamp == nil {
			set.byNode[q.Spec.Node] = merge(set.byNode[q.Spec.Node], entryOf(q))
		}
	}
	return set
}

func entryOf(q *v1alpha1.Quarantine) Entry {
	entry := Entry{
		UUID: q.Spec.UUID, Model: q.Spec.Model, Reason: q.Spec.Reason, Action: q.Spec.Action,
		Released: !q.KeepsWorkAway(), VendorExcludes: q.Status.VendorExcludes,
	}
	if len(q.Status.Evidence) > 0 {
		entry.Detail = q.Status.Evidence[0].Detail
	}
	return entry
}

// merge adds an entry whose UUID is not below those that are there.
func merge(entries []Entry, entry Entry) []Entry {
	if len(entries) == 0 || entries[len(entries)-1].UUID != entry.UUID {
		return append(entries, entry)
	}
	last := &entries[len(entries)-1]
	excludes := last.VendorExcludes || entry.VendorExcludes
	if last.Released && !entry.Released {
		*last = entry
	}
	last.VendorExcludes = excludes
	return entries
}

// Lifted tells whether current may leave open what old closed: a device is no longer
// kept away, or the vendor's device plugin now takes it out by itself.
func Lifted(old, current *Set) bool {
	for node, entries := range old.byNode {
		for i := range entries {
			if eased(&entries[i], current.entry(node, entries[i].UUID)) {
				return true
			}
		}
	}
	for node, entries := range current.byNode {
		for i := range entries {
			// A device that Failed was kept away without a quarantine, too.
			if entries[i].Released && old.entry(node, entries[i].UUID) == nil {
				return true
			}
		}
	}
	return false
}

func eased(before, after *Entry) bool {
	if before.Released {
		return false
	}
	return after == nil || after.Released || after.VendorExcludes != before.VendorExcludes
}

func (s *Set) entry(node, uuid string) *Entry {
	for i := range s.byNode[node] {
		if s.byNode[node][i].UUID == uuid {
			return &s.byNode[node][i]
		}
	}
	return nil
}
