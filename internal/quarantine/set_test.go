package quarantine

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"wastenot.dev/api/v1alpha1"
)

// make1 makes a quarantine of a device on node-1 and lets others change it.
func make1(name, uuid string, changes ...func(*v1alpha1.Quarantine)) *v1alpha1.Quarantine {
	q := &v1alpha1.Quarantine{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       v1alpha1.QuarantineSpec{Node: "node-1", UUID: uuid, Reason: "XID79"},
	}
	for _, change := range changes {
		change(q)
	}
	return q
}

func released(q *v1alpha1.Quarantine) { q.Spec.Release = &v1alpha1.Release{Reason: "checked by hand"} }

func vendorExcludes(q *v1alpha1.Quarantine) { q.Status.VendorExcludes = true }

func deleting(q *v1alpha1.Quarantine) { q.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }

func reason(text string) func(*v1alpha1.Quarantine) {
	return func(q *v1alpha1.Quarantine) { q.Spec.Reason = text }
}

func node(name string) func(*v1alpha1.Quarantine) {
	return func(q *v1alpha1.Quarantine) { q.Spec.Node = name }
}

func TestNewSet(t *testing.T) {
	full := make1("full", "GPU-1", vendorExcludes, func(q *v1alpha1.Quarantine) {
		q.Spec.Model, q.Spec.Action = "H100", v1alpha1.ActionReplaceDevice
		q.Status.Evidence = []v1alpha1.Evidence{{Code: "XID79", Detail: "fell off the bus"}, {Code: "XID13", Detail: "less"}}
	})
	tests := map[string]struct {
		quarantines []*v1alpha1.Quarantine
		want        map[string][]Entry
	}{
		"none": {want: map[string][]Entry{}},
		"every field": {
			quarantines: []*v1alpha1.Quarantine{full},
			want: map[string][]Entry{"node-1": {{
				UUID: "GPU-1", Model: "H100", Reason: "XID79", Action: v1alpha1.ActionReplaceDevice, Detail: "fell off the bus", VendorExcludes: true,
			}}},
		},
		"by node, in order of UUID": {
			quarantines: []*v1alpha1.Quarantine{make1("c", "GPU-3"), make1("b", "GPU-2", node("node-2")), make1("a", "GPU-1")},
			want: map[string][]Entry{
				"node-1": {{UUID: "GPU-1", Reason: "XID79"}, {UUID: "GPU-3", Reason: "XID79"}},
				"node-2": {{UUID: "GPU-2", Reason: "XID79"}},
			},
		},
		"released stays, deleting does not": {
			quarantines: []*v1alpha1.Quarantine{make1("a", "GPU-1", released), make1("b", "GPU-2", deleting)},
			want:        map[string][]Entry{"node-1": {{UUID: "GPU-1", Reason: "XID79", Released: true}}},
		},
		"one of two is released": {
			quarantines: []*v1alpha1.Quarantine{make1("a", "GPU-1", released, vendorExcludes), make1("b", "GPU-1", reason("Operator"))},
			want:        map[string][]Entry{"node-1": {{UUID: "GPU-1", Reason: "Operator", VendorExcludes: true}}},
		},
		"the other of two is released": {
			quarantines: []*v1alpha1.Quarantine{make1("b", "GPU-1", released, reason("Operator")), make1("a", "GPU-1")},
			want:        map[string][]Entry{"node-1": {{UUID: "GPU-1", Reason: "XID79"}}},
		},
		"both are released": {
			quarantines: []*v1alpha1.Quarantine{make1("b", "GPU-1", released, reason("Operator")), make1("a", "GPU-1", released)},
			want:        map[string][]Entry{"node-1": {{UUID: "GPU-1", Reason: "XID79", Released: true}}},
		},
		"the first by name speaks": {
			quarantines: []*v1alpha1.Quarantine{make1("b", "GPU-1", reason("Later")), make1("a", "GPU-1", reason("Earlier"))},
			want:        map[string][]Entry{"node-1": {{UUID: "GPU-1", Reason: "Earlier"}}},
		},
		"one UUID on two nodes": {
			quarantines: []*v1alpha1.Quarantine{make1("a", "GPU-1"), make1("b", "GPU-1", node("node-2"), released)},
			want: map[string][]Entry{
				"node-1": {{UUID: "GPU-1", Reason: "XID79"}}, "node-2": {{UUID: "GPU-1", Reason: "XID79", Released: true}},
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			set := NewSet(test.quarantines, 3)
			if diff := cmp.Diff(test.want, set.byNode); diff != "" {
				t.Errorf("entries (-want +got):\n%s", diff)
			}
			if set.Version() != 3 {
				t.Errorf("version %d", set.Version())
			}
			if diff := cmp.Diff(test.want["node-1"], set.OnNode("node-1")); diff != "" {
				t.Errorf("entries on node-1 (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLifted(t *testing.T) {
	type quarantines = []*v1alpha1.Quarantine
	active, free := quarantines{make1("a", "GPU-1")}, quarantines{make1("a", "GPU-1", released)}
	tests := map[string]struct {
		old, current quarantines
		want         bool
	}{
		"nothing changes":                    {old: active, current: active},
		"another is added":                   {old: active, current: quarantines{make1("a", "GPU-1"), make1("b", "GPU-2")}},
		"the reason changes":                 {old: active, current: quarantines{make1("a", "GPU-1", reason("XID48"))}},
		"one ends":                           {old: active, want: true},
		"one is released":                    {old: active, current: free, want: true},
		"one is being deleted":               {old: active, current: quarantines{make1("a", "GPU-1", deleting)}, want: true},
		"one of two on the device ends":      {old: quarantines{make1("a", "GPU-1"), make1("b", "GPU-1")}, current: active},
		"it moves to another node":           {old: active, current: quarantines{make1("a", "GPU-1", node("node-2"))}, want: true},
		"the vendor now excludes it":         {old: active, current: quarantines{make1("a", "GPU-1", vendorExcludes)}, want: true},
		"a release is taken back":            {old: free, current: active},
		"one that was released ends":         {old: free},
		"one comes that is released":         {current: free, want: true},
		"one stays released":                 {old: free, current: free},
		"a released one's exclusion changes": {old: free, current: quarantines{make1("a", "GPU-1", released, vendorExcludes)}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Lifted(NewSet(test.old, 1), NewSet(test.current, 2)); got != test.want {
				t.Errorf("got %t", got)
			}
		})
	}
}
