package fleet

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	telemetryv1alpha1 "wastenot.dev/api/telemetry/v1alpha1"
	"wastenot.dev/api/v1alpha1"
)

// filler sets every field of a value to something that differs from all others.
type filler struct{ count int }

func (f *filler) fill(t *testing.T, v reflect.Value) {
	t.Helper()
	f.count++
	grades := []v1alpha1.Grade{v1alpha1.GradeFailed, v1alpha1.GradeSuspect, v1alpha1.GradeHealthy, v1alpha1.GradeDegraded}
	switch v.Interface().(type) {
	case v1alpha1.Grade:
		v.Set(reflect.ValueOf(grades[f.count%len(grades)]))
		return
	case time.Time:
		v.Set(reflect.ValueOf(time.Unix(int64(f.count), 7).UTC()))
		return
	case time.Duration:
		v.Set(reflect.ValueOf(time.Duration(f.count) * time.Millisecond))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprint("value ", f.count))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(int64(f.count))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			f.fill(t, v.Index(i))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		f.fill(t, key)
		f.fill(t, value)
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			f.fill(t, v.Field(i))
		}
	default:
		t.Fatalf("the filler does not know %s", v.Type())
	}
}

func filledNode(t *testing.T) *Node {
	t.Helper()
	node := &Node{}
	(&filler{}).fill(t, reflect.ValueOf(node).Elem())
	node.CountFailed()
	return node
}

func TestWireCarriesEveryField(t *testing.T) {
	want := filledNode(t)
	text, err := proto.Marshal(ToWire(want))
	if err != nil {
		t.Fatal(err)
	}
	received := &telemetryv1alpha1.Node{}
	if err := proto.Unmarshal(text, received); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, FromWire(received)); diff != "" {
		t.Errorf("after the wire (-sent +received):\n%s", diff)
	}
}

func TestWireCarriesNothingWhereNothingIs(t *testing.T) {
	want := &Node{Devices: []Device{{Grade: v1alpha1.GradeUnknown}}}
	if diff := cmp.Diff(want, FromWire(ToWire(want))); diff != "" {
		t.Errorf("after the wire (-sent +received):\n%s", diff)
	}
}

func TestGradesThatAreNotKnownAreUnknown(t *testing.T) {
	for name, want := range map[string]v1alpha1.Grade{
		"Healthy": v1alpha1.GradeHealthy, "Suspect": v1alpha1.GradeSuspect, "Degraded": v1alpha1.GradeDegraded,
		"Failed": v1alpha1.GradeFailed, "Unknown": v1alpha1.GradeUnknown,
		"": v1alpha1.GradeUnknown, "healthy": v1alpha1.GradeUnknown, "Splendid": v1alpha1.GradeUnknown,
	} {
		node := FromWire(&telemetryv1alpha1.Node{Devices: []*telemetryv1alpha1.Device{
			{Grade: name, Reasons: []*telemetryv1alpha1.Reason{{Grade: name}}},
		}})
		if got := node.Devices[0].Grade; got != want {
			t.Errorf("device of grade %q: %s, want %s", name, got, want)
		}
		if got := node.Devices[0].Reasons[0].Grade; got != want {
			t.Errorf("reason of grade %q: %s, want %s", name, got, want)
		}
		if wantFailed := want == v1alpha1.GradeFailed; (node.Failed == 1) != wantFailed {
			t.Errorf("grade %q: %d failed, want one: %t", name, node.Failed, wantFailed)
		}
	}
}
