package main

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"wastenot.dev/test/perf/timeslices/policy"
	"wastenot.dev/test/perf/timeslices/replay"
)

func TestTableIsTheSameEveryTime(t *testing.T) {
	t.Parallel()
	args := strings.Fields("-gpus 4 -replicas 3 -pods 80 -warm 10 -seeds 1:2 -load 50,130")
	table := func() string {
		var out strings.Builder
		if err := run(context.Background(), args, &out, io.Discard); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	first := table()
	if diff := cmp.Diff(first, table()); diff != "" {
		t.Error(diff)
	}
	if lines := strings.Count(first, "\n"); lines != 1+2*len(policy.Names()) {
		t.Errorf("%d lines:\n%s", lines, first)
	}
}

func TestWrongFlagsAreNamed(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"-policy magic": "-policy", "-policy wastenot-x": "-policy", "-load 0": "-load", "-seeds 5:4": "-seeds", "-gpus 0": "-gpus", "-replicas 0": "-replicas",
		"-pods 0": "-pods", "-busy 0.7": "-busy", "-busy NaN": "-busy", "-phase 0": "-phase", "extra": "unexpected argument", "-seed 1": "-seed",
	} {
		if err := run(context.Background(), strings.Fields(args), io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s named", args, err, want)
		}
	}
}

// GPU 0 is full, 1 has a busy pod, 2 an idle one, 3 is empty.
func TestWhereAPodGoes(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]int{"spread": 3, "pack": 1, "wastenot-0": 1, "wastenot-12": 2} {
		construct, err := policy.New(name)
		if err != nil {
			t.Fatal(err)
		}
		g := &replay.GPUs{Replicas: 2, Pods: []int{2, 1, 1, 0}, Busy: []int{0, 1, 0, 0}}
		if got, ok := construct(g, 1).Place(); !ok || got != want {
			t.Errorf("%s: GPU %d (%v), want %d", name, got, ok, want)
		}
	}
}
