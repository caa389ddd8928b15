package main

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTableIsTheSameEveryTime(t *testing.T) {
	t.Parallel()
	args := strings.Fields("-gpus 4 -arrivals 60 -warm 10 -seeds 1:2 -load 100 -geometry A30 -mix uniform")
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
	if lines := strings.Count(first, "\n"); lines != 7 {
		t.Errorf("%d lines, want a header, five policies and the pool:\n%s", lines, first)
	}
}

func TestWrongFlagsAreNamed(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"-geometry T4": "-geometry", "-mix odd": "-mix", "-policy magic": "-policy", "-load 0": "-load", "-load x": "-load", "-seeds 5:4": "-seeds",
		"-gpus 0": "-gpus", "-per-node 101": "-per-node", "-arrivals 0": "-arrivals", "extra": "unexpected argument", "-seed 1": "-seed",
	}
	for args, want := range tests {
		if err := run(context.Background(), strings.Fields(args), io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s named", args, err, want)
		}
	}
	err := run(context.Background(), strings.Fields("-geometry T4 -mix odd -seeds x"), io.Discard, io.Discard)
	for _, want := range []string{"-geometry", "-mix", "-seeds"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s is not in %v", want, err)
		}
	}
}
