package store

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/telemetry/health"
)

// A device is on one node, whatever exporters say.

func TestTwoNodesThatReportADeviceDoNotTakeTurns(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "node-1", "node-2")
	f.read("node-1", gpu("a", 0))
	f.clock.Step(time.Second)
	for range 20 {
		f.clock.Step(5 * time.Second)
		err := f.Accept(f.batch("node-2", gpu("a", 0), gpu("b", 1)))
		if err == nil || !strings.Contains(err.Error(), "GPU-a is already read on node node-1") {
			t.Fatalf("error %v does not say where the device is", err)
		}
		f.clock.Step(5 * time.Second)
		f.read("node-1", gpu("a", 0))
		if diff := cmp.Diff(map[string]v1alpha1.Grade{"node-1/GPU-a": healthy, "node-2/GPU-b": healthy}, f.grades()); diff != "" {
			t.Fatalf("grades (-want +got):\n%s", diff)
		}
	}
}

func TestDeviceMovesWithItsHistory(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		before func(f *fixture)
		want   v1alpha1.Grade
	}{
		"its card was put into another node": {
			before: func(f *fixture) {
				f.read("node-1", withXID(gpu("a", 0), 79))
				f.clock.Step(budget + time.Second)
			},
			want: failed,
		},
		"its node has left": {
			before: func(f *fixture) {
				f.read("node-1", withXID(gpu("a", 0), 79))
				f.Remove("node-1")
			},
			want: failed,
		},
		"it was healthy when its node left": {
			before: func(f *fixture) {
				f.read("node-1", withXID(gpu("a", 0), 13))
				f.Remove("node-1")
			},
			want: healthy,
		},
		"a record says that it was elsewhere": {
			before: func(f *fixture) {
				f.Seed("node-1", "GPU-a", "", []health.Finding{{Code: "XID79", Grade: failed}}, false)
			},
			want: failed,
		},
		"a record says that it was on a node that is gone": {
			before: func(f *fixture) {
				f.Seed("gone", "GPU-a", "", []health.Finding{{Code: "XID79", Grade: failed}}, false)
			},
			want: failed,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, "node-1", "node-2")
			test.before(f)
			f.clock.Step(time.Second)
			f.read("node-2", gpu("a", 3))
			if diff := cmp.Diff(map[string]v1alpha1.Grade{"node-2/GPU-a": test.want}, f.grades()); diff != "" {
				t.Errorf("grades (-want +got):\n%s", diff)
			}
			f.Tick()
			if f.nodes["gone"] != nil {
				t.Error("the node that is gone is kept for nothing")
			}
		})
	}
}

// The change that takes a device from one node and gives it to another is one.
func TestDeviceIsNeverSeenTwiceWhileItMoves(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "node-1", "node-2")
	f.read("node-1", gpu("a", 0), gpu("b", 1))
	f.clock.Step(budget + time.Second)
	before := f.Snapshot().Generation
	f.read("node-2", gpu("a", 0))
	if got := f.Snapshot().Generation; got != before+1 {
		t.Errorf("%d generations for one move", got-before)
	}
	if diff := cmp.Diff(map[string]v1alpha1.Grade{"node-1/GPU-b": unknown, "node-2/GPU-a": healthy}, f.grades()); diff != "" {
		t.Errorf("grades (-want +got):\n%s", diff)
	}
}

// An idle window does not go on across a move or another holder.
func TestNewHolderIsNotIdleAtOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "node-1")
	f.pass(idleWindow+10*time.Second, "node-1", heldBy(gpu("a", 0), "train-0"))
	if got := f.device("node-1", "a").Activity; got != v1alpha1.ActivityHeldIdle {
		t.Fatalf("activity %s of the first holder", got)
	}
	f.pass(10*time.Second, "node-1", heldBy(gpu("a", 0), "train-1"))
	if got := f.device("node-1", "a").Activity; got != unknownActivity {
		t.Errorf("activity %s of a holder that has just come", got)
	}
}
