package store

import (
	"reflect"
	"testing"
	"time"

	"wastenot.dev/internal/fleet"
)

func TestUnchangedFleetKeepsItsGeneration(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "node-1", "node-2")
	f.read("node-1", gpu("a", 0), withXID(gpu("b", 1), 79))
	f.read("node-2", gpu("c", 0))
	first := f.Snapshot()
	// Read again within the step by which ages are published.
	f.clock.Step(9 * time.Second)
	f.read("node-1", gpu("a", 0), withXID(gpu("b", 1), 79))
	f.Tick()
	if f.Snapshot() != first {
		t.Error("reading the same changed the fleet")
	}
	// Readers must be able to see that readings are fresh.
	f.clock.Step(time.Second)
	f.read("node-1", gpu("a", 0), withXID(gpu("b", 1), 79))
	second := f.Snapshot()
	if second.Generation != first.Generation+1 {
		t.Fatalf("generation %d after %d", second.Generation, first.Generation)
	}
	if second.Node("node-2") != first.Node("node-2") {
		t.Error("the node that did not change is not shared")
	}
	if second.Node("node-1") == first.Node("node-1") {
		t.Error("the node that changed is shared")
	}
	if got := first.Node("node-1").Device("GPU-a").ObservedAt; !got.Equal(midnight) {
		t.Errorf("the snapshot before changed: observed at %s", got)
	}
	if second.Epoch != "first" {
		t.Errorf("epoch %q", second.Epoch)
	}
}

// TestEveryFieldIsAChange sets each field of the published form in turn, so that a
// field that is added later is not forgotten in the comparison.
func TestEveryFieldIsAChange(t *testing.T) {
	t.Parallel()
	derived := map[string]bool{
		"Node.Name":   true, // nodes are compared by name
		"Node.Failed": true, // counted from the devices
	}
	fields := 0
	for _, form := range []struct {
		value reflect.Value
		put   func(*fleet.Node, reflect.Value)
	}{
		{reflect.ValueOf(fleet.Node{}), func(n *fleet.Node, v reflect.Value) {
			devices := n.Devices
			*n = v.Interface().(fleet.Node)
			n.Devices = append(n.Devices, devices...)
		}},
		{reflect.ValueOf(fleet.Device{}), func(n *fleet.Node, v reflect.Value) { n.Devices[0] = v.Interface().(fleet.Device) }},
		{reflect.ValueOf(fleet.Partition{}), func(n *fleet.Node, v reflect.Value) {
			n.Devices[0].Partitions = []fleet.Partition{v.Interface().(fleet.Partition)}
		}},
		{reflect.ValueOf(fleet.Reason{}), func(n *fleet.Node, v reflect.Value) {
			n.Devices[0].Reasons = []fleet.Reason{v.Interface().(fleet.Reason)}
		}},
		{reflect.ValueOf(fleet.Holder{}), func(n *fleet.Node, v reflect.Value) {
			n.Devices[0].Holders = []fleet.Holder{v.Interface().(fleet.Holder)}
		}},
	} {
		kind := form.value.Type()
		build := func(value reflect.Value) *fleet.Node {
			n := &fleet.Node{Devices: []fleet.Device{{}}}
			form.put(n, value)
			return n
		}
		before := reflect.New(kind).Elem()
		if !sameNode(build(before), build(before)) {
			t.Errorf("%s: differs from itself", kind.Name())
		}
		for i := range kind.NumField() {
			name := kind.Name() + "." + kind.Field(i).Name
			after := reflect.New(kind).Elem()
			disturb(t, after.Field(i))
			fields++
			if got, want := sameNode(build(before), build(after)), derived[name]; got != want {
				t.Errorf("%s: another value counts as the same: %t, want %t", name, got, want)
			}
		}
	}
	if fields < 30 {
		t.Errorf("only %d fields were tried", fields)
	}
}

// disturb gives a field another value than its zero.
func disturb(t *testing.T, field reflect.Value) {
	t.Helper()
	switch {
	case field.Type() == reflect.TypeFor[time.Time]():
		field.Set(reflect.ValueOf(midnight))
	case field.Kind() == reflect.String:
		field.SetString("other")
	case field.Kind() == reflect.Bool:
		field.SetBool(true)
	case field.CanInt():
		field.SetInt(int64(time.Hour))
	case field.CanUint():
		field.SetUint(7)
	case field.Kind() == reflect.Slice:
		field.Set(reflect.MakeSlice(field.Type(), 1, 1))
	case field.Kind() == reflect.Map:
		field.Set(reflect.ValueOf(map[string]string{"zone": "z1"}))
	default:
		t.Fatalf("no other value for a %s", field.Type())
	}
}
