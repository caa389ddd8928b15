package controlplane

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestHelperFlags(t *testing.T) {
	tests := map[string]struct {
		opts Options
		want []string
	}{
		"of a throw-away cluster": {
			want: []string{"--dir=d", "--ephemeral=true", "--fsync=false", "--port=0"},
		},
		"of everything": {
			opts: Options{
				EmulatedVersion: "1.34", Dir: "d", Fsync: true, Port: 6443,
				FeatureGates:  map[string]bool{"B": false, "A": true},
				RuntimeConfig: map[string]string{"g/v1": "true"},
				APIServerArgs: []string{"--v=4"}, ControllerManagerArgs: []string{"--x"},
			},
			want: []string{
				"--dir=d", "--ephemeral=false", "--fsync=true", "--port=6443", "--emulated-version=1.34",
				"--feature-gates=A=true,B=false", "--runtime-config=g/v1=true", "--apiserver-arg=--v=4", "--controller-arg=--x",
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, helperFlags("d", test.opts)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnnouncementMayComeInPieces(t *testing.T) {
	into := make(chan announcement, 1)
	reader := &announcementReader{into: into}
	for _, piece := range []string{`{"kubeconfig":"k",`, `"version":"v1"}` + "\nmore", " output\n"} {
		if _, err := reader.Write([]byte(piece)); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(announcement{Kubeconfig: "k", Version: "v1"}, <-into); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// helper writes a shell script that stands for the compiled helper.
func helper(t *testing.T, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "helper")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestHelperThatFailsIsQuoted(t *testing.T) {
	t.Setenv(envBinary, helper(t, "echo the reason >&2; exit 1"))
	_, err := Start(t.Context(), Options{Dir: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), "the reason") {
		t.Errorf("got %v, want an error that quotes the helper", err)
	}
}

func TestHelperEndsWithItsContext(t *testing.T) {
	dir := t.TempDir()
	ended := filepath.Join(dir, "ended")
	binary := helper(t, fmt.Sprintf(`echo '{"kubeconfig":"k"}'; cat; touch %s`, ended))
	ctx, cancel := context.WithCancel(t.Context())
	process, _, err := startProcess(ctx, binary, dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	<-process.done
	if !exists(ended) {
		t.Error("the helper was killed instead of asked to end")
	}
	process.stop() // again
}

func TestStartGivesUpWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err := startProcess(ctx, helper(t, "cat"), t.TempDir(), Options{})
	if err == nil {
		t.Error("starting under an ended context is no error")
	}
}

func TestTailKeepsTheEnd(t *testing.T) {
	var log tail
	for i := range 5000 {
		fmt.Fprintf(&log, "line %d\n", i)
	}
	lines := strings.Split(log.lastLines(), "\n")
	if len(lines) != tailLines || lines[tailLines-1] != "line 4999" || lines[0] != "line 4985" {
		t.Errorf("got %q ... %q (%d lines), want lines 4985 to 4999", lines[0], lines[len(lines)-1], len(lines))
	}
	if len(log.data) > tailBytes {
		t.Errorf("keeps %d bytes, want at most %d", len(log.data), tailBytes)
	}
}
