package main

import (
	"context"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files in testdata anew")

var small = filepath.Join("testdata", "small")

// The table of the small trace and every placement of one run, as they were looked at.
func TestGolden(t *testing.T) {
	t.Parallel()
	out := t.TempDir()
	var table strings.Builder
	args := []string{"-dir", small, "-trace", "all", "-policy", "bestfit,fgd,random", "-seeds", "42:44", "-out", out}
	if err := run(context.Background(), args, &table, io.Discard); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(out, "*.csv"))
	if err != nil || len(files) != 2*3*3 {
		t.Errorf("%d files of placements (%v), want one for each of 18 runs", len(files), err)
	}
	placements, err := os.ReadFile(filepath.Join(out, "small-fgd-42.csv"))
	if err != nil {
		t.Fatal(err)
	}
	for path, got := range map[string]string{"table.txt": table.String(), "small-fgd-42.csv": string(placements)} {
		path = filepath.Join("testdata", "golden", path)
		if *rewrite {
			if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s (go test -rewrite writes it anew): %s", path, diff)
		}
	}
}

func TestWrongFlags(t *testing.T) {
	t.Parallel()
	empty := t.TempDir()
	tests := map[string]struct {
		args []string
		want []string
	}{
		"no folder":       {nil, []string{"-dir is missing"}},
		"no such folder":  {[]string{"-dir", filepath.Join(empty, "none")}, []string{"-dir", "is no folder"}},
		"empty folder":    {[]string{"-dir", empty}, []string{"-dir", "openb_pod_list_NAME.csv"}},
		"unknown trace":   {[]string{"-dir", small, "-trace", "small,big"}, []string{`-trace: unknown trace "big"`, "shares, small"}},
		"unknown policy":  {[]string{"-dir", small, "-trace", "small", "-policy", "fgd,magic"}, []string{`-policy: unknown policy "magic"`, "bestfit, fgd, random"}},
		"several at once": {[]string{"-dir", small, "-trace", "x", "-policy", "y", "-seeds", "z"}, []string{"-trace", "-policy", "-seeds"}},
		"an argument":     {[]string{"-dir", small, "-trace", "small", "fgd"}, []string{`unexpected argument "fgd"`}},
		"unknown flag":    {[]string{"-seed", "42"}, []string{"-seed"}},
	}
	for _, seeds := range []string{"", "42:", ":42", "51:42", "-1", "0:1000", "1:2:3"} {
		tests["seeds "+seeds] = struct {
			args []string
			want []string
		}{[]string{"-dir", small, "-trace", "small", "-seeds", seeds}, []string{"-seeds", "first:last, such as 42:51"}}
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := run(context.Background(), tt.args, io.Discard, io.Discard)
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error does not say %q: %v", want, err)
				}
			}
		})
	}
}

func TestSeeds(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]uint64{"42": {42}, "42:44": {42, 43, 44}, "7:7": {7}, "0:0": {0}} {
		opts := &options{}
		if err := opts.setSeeds(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if diff := cmp.Diff(want, opts.seeds); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
}

func TestBadFilesAreNamed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"openb_node_list_gpu_node.csv": "sn,cpu_milli,memory_mib,gpu,model\nn,1,1,0,\n",
		"openb_pod_list_a.csv":         "name,cpu_milli,memory_mib,num_gpu,gpu_milli\np,x,1,1,1000\n",
		"published-allocation.csv":     "trace,policy\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	err := run(context.Background(), []string{"-dir", dir, "-trace", "a"}, io.Discard, io.Discard)
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"openb_node_list_gpu_node.csv: no node has a device", "openb_pod_list_a.csv: line 2, column cpu_milli", `published-allocation.csv: line 1 lacks the column "alloc_pct_at_130"`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q: %v", want, err)
		}
	}
}
