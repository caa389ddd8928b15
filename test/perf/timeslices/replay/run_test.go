package replay_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"wastenot.dev/test/perf/timeslices/load"
	"wastenot.dev/test/perf/timeslices/replay"
)

type answer struct {
	gpu int
	ok  bool
}

func (a answer) Place() (int, bool) { return a.gpu, a.ok }
func (answer) Changed(int)          {}

func always(gpu int, ok bool) replay.Constructor {
	return func(*replay.GPUs, uint64) replay.Policy { return answer{gpu, ok} }
}

func TestWrongAnswersFail(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		policy replay.Constructor
		want   string
	}{
		"rejects with a replica free": {always(0, false), "rejected though"},
		"one pod too many":            {always(0, true), "no replica free"},
		"no such GPU":                 {always(2, true), "no replica free"},
		"negative number":             {always(-1, true), "no replica free"},
		"lies to itself": {func(g *replay.GPUs, _ uint64) replay.Policy {
			g.Pods[0], g.Pods[1] = 1, 1
			return answer{}
		}, "rejected though"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pods := []load.Pod{{Arrives: 1, Leaves: 9}, {Arrives: 2, Leaves: 9}}
			_, err := replay.Run(context.Background(), &replay.Experiment{GPUs: 2, Replicas: 1, Pods: pods}, tt.policy)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

// The first pod is busy from 1 to 3, the second from 2 to 4: of their four busy units two
// are crowded. The last pod is rejected, as the only GPU is full, and ends the run.
func TestResult(t *testing.T) {
	t.Parallel()
	pods := []load.Pod{
		{Arrives: 1, Leaves: 9, Busy: true, Flips: []float64{3}},
		{Arrives: 1.5, Leaves: 5, Flips: []float64{2, 4}},
		{Arrives: 4.5, Leaves: 5},
	}
	calls := 0
	got, err := replay.Run(context.Background(), &replay.Experiment{GPUs: 1, Replicas: 2, Pods: pods}, func(*replay.GPUs, uint64) replay.Policy { return upTo{2, &calls} })
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&replay.Result{Arrived: 3, Accepted: 2, CrowdedPercent: 50, MeanUsed: 1}, got); diff != "" {
		t.Error(diff)
	}
}

// upTo accepts so many pods.
type upTo struct {
	limit int
	calls *int
}

func (u upTo) Place() (int, bool) { *u.calls++; return 0, *u.calls <= u.limit }
func (upTo) Changed(int)          {}
