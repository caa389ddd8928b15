package fleet

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	telemetryv1alpha1 "wastenot.dev/api/telemetry/v1alpha1"
)

func mixOf(kinds ...string) *Mix {
	mix := &Mix{}
	for i, kind := range kinds {
		mix.Items = append(mix.Items, MixItem{Kind: kind, Count: 1, Milli: 1000, Weight: int64(10 - i)})
	}
	return mix
}

func TestWireCarriesTheMix(t *testing.T) {
	filled := &Mix{}
	(&filler{}).fill(t, reflect.ValueOf(filled).Elem())
	for name, want := range map[string]*Mix{"every field": filled, "empty": {}, "not known": nil} {
		t.Run(name, func(t *testing.T) {
			text, err := proto.Marshal(&telemetryv1alpha1.Snapshot{Mix: MixToWire(want)})
			if err != nil {
				t.Fatal(err)
			}
			received := &telemetryv1alpha1.Snapshot{}
			if err := proto.Unmarshal(text, received); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, MixFromWire(received.GetMix())); diff != "" {
				t.Errorf("after the wire (-sent +received):\n%s", diff)
			}
		})
	}
}

func TestMixEqual(t *testing.T) {
	for name, test := range map[string]struct {
		a, b *Mix
		want bool
	}{
		"both not known":           {nil, nil, true},
		"empty is not unknown":     {&Mix{}, nil, false},
		"unknown is not empty":     {nil, &Mix{}, false},
		"both empty":               {&Mix{}, &Mix{Items: []MixItem{}}, true},
		"the same":                 {mixOf("a", "b"), mixOf("a", "b"), true},
		"one less":                 {mixOf("a", "b"), mixOf("a"), false},
		"another kind":             {mixOf("a"), mixOf("b"), false},
		"another order":            {mixOf("a", "b"), &Mix{Items: []MixItem{mixOf("a", "b").Items[1], mixOf("a").Items[0]}}, false},
		"as often, beside another": {&Mix{Items: []MixItem{{Kind: "a", Weight: 1}}}, &Mix{Items: []MixItem{{Kind: "a", Weight: 2}}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := test.a.Equal(test.b); got != test.want {
				t.Errorf("equal: %t, want %t", got, test.want)
			}
		})
	}
}

// TestClientFollowsTheMix is one script: a mix comes, stays over what does not speak of
// it, is replaced, and goes with a telemetry that does not know one.
func TestClientFollowsTheMix(t *testing.T) {
	s := newStage(t)
	telemetry := s.connection("life 1")
	generation := uint64(6)
	var shared *Mix
	step := func(what string, want *Mix, changed bool, say func()) {
		t.Helper()
		generation++
		say()
		change := s.change()
		if diff := cmp.Diff(want, change.New.Mix); diff != "" || change.MixChanged != changed {
			t.Errorf("%s: changed %t, want %t; mix (-want +got):\n%s", what, change.MixChanged, changed, diff)
		}
		if !changed && change.New.Mix != change.Old.Mix {
			t.Errorf("%s: the mix that did not change is not shared", what)
		}
		if change.Old.Mix != shared {
			t.Errorf("%s: the change does not lead from the last mix", what)
		}
		shared = change.New.Mix
	}
	step("a telemetry of old", nil, false, func() { telemetry.snapshot(generation, nodeOf("a")) })
	step("a node changes", nil, false, func() { telemetry.delta(generation, nil, nodeOf("a")) })
	step("nothing is asked for", &Mix{}, true, func() { telemetry.mixDelta(generation, &Mix{}) })
	step("the first mix", mixOf("gpu"), true, func() { telemetry.mixDelta(generation, mixOf("gpu")) })
	if nodes := s.client.Snapshot().Nodes; len(nodes) != 1 {
		t.Errorf("%d nodes after a delta without nodes", len(nodes))
	}
	step("a node changes again", mixOf("gpu"), false, func() { telemetry.delta(generation, []string{"a"}, nodeOf("b")) })
	step("the same mix", mixOf("gpu"), false, func() { telemetry.mixDelta(generation, mixOf("gpu")) })
	step("another mix with a node", mixOf("mig", "gpu"), true, func() { telemetry.mixDelta(generation, mixOf("mig", "gpu"), nodeOf("b")) })

	reconnect := func(epoch string) {
		telemetry.hangUp <- nil
		s.reconnect()
		telemetry = s.connection(epoch)
	}
	reconnect("life 2")
	step("another life that knows the same", mixOf("mig", "gpu"), false, func() { telemetry.mixSnapshot(generation, mixOf("mig", "gpu")) })
	reconnect("life 3")
	step("another life that knows another", mixOf("gpu"), true, func() { telemetry.mixSnapshot(generation, mixOf("gpu")) })
	reconnect("life 4")
	step("another life that knows none", nil, true, func() { telemetry.snapshot(generation) })
}

func (k *talker) mixSnapshot(generation uint64, mix *Mix) {
	k.t.Helper()
	k.say(&telemetryv1alpha1.WatchEvent{Event: &telemetryv1alpha1.WatchEvent_Snapshot{
		Snapshot: &telemetryv1alpha1.Snapshot{Generation: generation, Mix: MixToWire(mix)},
	}})
}

func (k *talker) mixDelta(generation uint64, mix *Mix, changed ...*Node) {
	k.t.Helper()
	delta := &telemetryv1alpha1.Delta{Generation: generation, Mix: MixToWire(mix)}
	for _, node := range changed {
		delta.Changed = append(delta.Changed, ToWire(node))
	}
	k.say(&telemetryv1alpha1.WatchEvent{Event: &telemetryv1alpha1.WatchEvent_Delta{Delta: delta}})
}
