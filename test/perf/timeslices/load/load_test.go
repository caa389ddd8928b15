package load_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"wastenot.dev/test/perf/timeslices/load"
)

func TestLoadIsWhatItSays(t *testing.T) {
	t.Parallel()
	const count = 10_000
	shape := load.Shape{Offered: 40, BusyShare: 0.4, Phase: 0.3}
	pods := load.Pods(shape, count, 5)
	life, busy, last := 0.0, 0.0, 0.0
	for _, p := range pods {
		if p.Arrives < last {
			t.Fatal("pods do not come in order")
		}
		last = p.Arrives
		life += p.Leaves - p.Arrives
		at, working := p.Arrives, p.Busy
		for _, flip := range append(p.Flips, p.Leaves) {
			if flip < at {
				t.Fatalf("phases out of order: %+v", p)
			}
			if working {
				busy += flip - at
			}
			at, working = flip, !working
		}
	}
	if got := life / last; math.Abs(got-shape.Offered) > 1.5 {
		t.Errorf("%.2f pods at a time, want %.2f", got, shape.Offered)
	}
	if got := busy / life; math.Abs(got-shape.BusyShare) > 0.03 {
		t.Errorf("busy %.3f of the time, want %.3f", got, shape.BusyShare)
	}
	if !cmp.Equal(load.Pods(shape, 20, 5), load.Pods(shape, 20, 5)) || cmp.Equal(load.Pods(shape, 20, 5), load.Pods(shape, 20, 6)) {
		t.Error("the seed does not decide")
	}
}
