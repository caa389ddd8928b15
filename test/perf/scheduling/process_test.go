package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"wastenot.dev/test/perf/scheduling/pairs"
	"wastenot.dev/test/perf/scheduling/workload"
)

// play has a script in place of the test binary play a workload.
func play(t *testing.T, script string, timeout time.Duration) (pairs.Run, string) {
	t.Helper()
	dir := t.TempDir()
	binary := filepath.Join(dir, "bench.test")
	if err := os.WriteFile(binary, []byte("#!/bin/sh\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	p := &process{binary: binary, dir: dir, etcd: filepath.Join(dir, "bin"), keep: filepath.Join(dir, "kept"), ours: "blind", timeout: timeout, short: true}
	w := workload.Workload{Kind: workload.GPU, Nodes: 1000, Constraints: workload.None}.Short()
	return p.measure(t.Context(), w, 3, ours), filepath.Join(dir, "kept", "gpu-200-none", "03-ours")
}

func TestMeasure(t *testing.T) {
	run, kept := play(t, `for a in "$@"; do case $a in -data-items-dir=*) out=${a#*=};; esac; done
echo '`+measured+`' >"$out/BenchmarkPerfScheduling_x.json"
echo "$@" "$PATH" "$TMPDIR" >"$out/called"
`, time.Minute)
	if run.Err != nil || run.PodsPerSecond != 241.5 || run.Batched != nil {
		t.Errorf("run %+v, want 241.5 pods/s", run)
	}
	called, err := os.ReadFile(filepath.Join(kept, "called"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"-workload=gpu-1000/none -profile=blind -small", filepath.Join(filepath.Dir(filepath.Dir(filepath.Dir(kept))), "bin") + ":"} {
		if !strings.Contains(string(called), want) {
			t.Errorf("called with %s, want %s", called, want)
		}
	}
	words := strings.Fields(string(called))
	if _, err := os.Stat(words[len(words)-1]); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder of etcd is still there: %v", err)
	}
	if _, err := os.Stat(filepath.Join(kept, "run.log")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the log of a run that went well is still there: %v", err)
	}
}

func TestRunThatFailsKeepsItsLog(t *testing.T) {
	for name, test := range map[string]struct {
		script, want string
		timeout      time.Duration
	}{
		"with an error":    {"echo what happened; exit 3", "exit status 3", time.Minute},
		"without a result": {"echo what happened", "0 files", time.Minute},
		"by taking long":   {"echo what happened; sleep 100", "deadline exceeded", 200 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			run, kept := play(t, test.script, test.timeout)
			if run.Err == nil || !strings.Contains(run.Err.Error(), test.want) {
				t.Errorf("run %+v, want an error with %q", run, test.want)
			}
			text, err := os.ReadFile(filepath.Join(kept, "run.log"))
			if err != nil || string(text) != "what happened\n" || !strings.Contains(run.Err.Error(), filepath.Join("gpu-200-none", "03-ours", "run.log")) {
				t.Errorf("log %q, %v; want it kept and named", text, err)
			}
		})
	}
}

func TestNothingOutlivesARun(t *testing.T) {
	// The child stands for etcd: it has the log open, too.
	_, kept := play(t, `sleep 1000 & echo $! >child; exit 1`, time.Minute)
	text, err := os.ReadFile(filepath.Join(filepath.Dir(filepath.Dir(filepath.Dir(kept))), "child"))
	if err != nil {
		t.Fatal(err)
	}
	if err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, 10*time.Second, true, func(context.Context) (bool, error) {
		state, err := os.ReadFile(filepath.Join("/proc", strings.TrimSpace(string(text)), "stat"))
		return errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) || strings.Contains(string(state), ") Z "), nil
	}); err != nil {
		t.Errorf("the child still runs: %v", err)
	}
}

func TestReportsDoNotNameTheFoldersOfThisMachine(t *testing.T) {
	t.Chdir(t.TempDir())
	p := &process{keep: filepath.Join(".bench", "x")}
	kept, err := p.folder(workload.Workload{Kind: workload.GPU}, 1, stock)
	if err != nil {
		t.Fatal(err)
	}
	want := filepath.Join(".bench", "x", "gpu-0-", "01-stock", "run.log")
	if got := p.shown(filepath.Join(kept, "run.log")); got != want {
		t.Errorf("shown as %s, want %s", got, want)
	}
}
