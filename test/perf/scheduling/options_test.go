package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wastenot.dev/test/perf/scheduling/pairs"
)

func TestParse(t *testing.T) {
	given := []string{"-binary", "b", "-dir", "d", "-etcd", "e"}
	for name, test := range map[string]struct {
		args          []string
		wantPairs     int
		wantWorkloads int
	}{
		"everything that is not long": {nil, 7, 12},
		"short":                       {[]string{"-short"}, 1, 3},
		"short, more pairs":           {[]string{"-short", "-pairs", "2"}, 2, 3},
		"some":                        {[]string{"--workload", "^gpu-1000/s", "--pairs", "9"}, 9, 2},
	} {
		t.Run(name, func(t *testing.T) {
			opts, err := parse(append(given, test.args...), io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			if opts.pairs != test.wantPairs || len(opts.workloads) != test.wantWorkloads || !filepath.IsAbs(opts.binary) {
				t.Errorf("%d pairs of %d workloads with %s, want %d of %d", opts.pairs, len(opts.workloads), opts.binary, test.wantPairs, test.wantWorkloads)
			}
		})
	}
}

func TestParseNamesEveryFault(t *testing.T) {
	_, err := parse([]string{"-pairs", "0", "-ours", "theirs", "-workload", "tpu", "more"}, io.Discard)
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"-binary", "-dir", "-etcd", "-pairs", "-ours", "-workload", "gpu-1000/system", `"more"`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not name %s: %v", want, err)
		}
	}
}

func TestConditions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "meminfo")
	if err := os.WriteFile(path, []byte("MemFree: 1 kB\nMemTotal:       25165824 kB\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{"MemTotal:": "24 GiB", "Absent:": "unknown"} {
		if got := field(path, key); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	if got := field(path+"x", ""); got != "unknown" {
		t.Errorf("of no file it says %q", got)
	}
}

func TestSaveWritesTheReport(t *testing.T) {
	o := &options{out: filepath.Join(t.TempDir(), "report.md")}
	if err := o.save(&pairs.Report{Conditions: []string{"here"}}); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(o.out); err != nil || !strings.HasPrefix(string(text), "* here\n") {
		t.Errorf("file %q, %v", text, err)
	}
	o.out = filepath.Join(o.out, "no folder")
	if err := o.save(&pairs.Report{}); err == nil {
		t.Error("a file that cannot be made is no error")
	}
}
