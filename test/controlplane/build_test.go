package controlplane

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestSourceHashCoversWhatDecidesTheBinary(t *testing.T) {
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	module, pkg := t.TempDir(), t.TempDir()
	sum, source := filepath.Join(module, "go.sum"), filepath.Join(pkg, "main.go")
	write(sum, "a v1")
	write(source, "package main")
	s := helperSource{packageDir: pkg, moduleDir: module, kubernetes: "v1.37.2"}
	seen := map[string]string{}
	step := func(what string, wantNew bool) {
		t.Helper()
		key, err := s.hash()
		if err != nil {
			t.Fatal(err)
		}
		if earlier, known := seen[key]; known == wantNew {
			t.Errorf("after %s: hash known from %q: %t, want new: %t", what, earlier, known, wantNew)
		}
		seen[key] = what
	}
	step("nothing", true)
	write(filepath.Join(pkg, "main_test.go"), "package main")
	step("a new test", false)
	write(source, "package main // changed")
	step("a changed source", true)
	write(filepath.Join(pkg, "more.go"), "package main")
	step("a new source", true)
	write(sum, "a v2")
	step("a changed dependency", true)
	s.kubernetes = "v1.37.3"
	step("another Kubernetes", true)
}

func TestLinkerFlagsStampTheVersion(t *testing.T) {
	flags := helperSource{kubernetes: "v1.37.2"}.linkerFlags()
	for name, value := range map[string]string{"gitVersion": "v1.37.2", "gitMajor": "1", "gitMinor": "37"} {
		if want := fmt.Sprintf("-X k8s.io/component-base/version.%s=%s", name, value); !strings.Contains(flags, want) {
			t.Errorf("%q lacks %q", flags, want)
		}
	}
}

func TestBuildProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		progress := newBuildProgress(&out, 40)
		progress.start()
		fmt.Fprint(progress, "k8s.io/a\nk8s.io/b\n")
		time.Sleep(progressInterval + time.Second)
		fmt.Fprint(progress, "# k8s.io/c\nk8s.io/d\n")
		time.Sleep(progressInterval)
		progress.stop()
		const want = `control plane: compiling (40 packages, minutes from cold, once per machine)
control plane: compiled 2 of at most 40 packages in 10s
control plane: compiled 3 of at most 40 packages in 20s
control plane: compiled in 21s
`
		if out.String() != want {
			t.Errorf("got\n%swant\n%s", out.String(), want)
		}
	})
}

func TestLockIsExclusive(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := lockFile(t.Context(), path, func() { t.Error("waiting for a lock that nobody holds") })
	if err != nil {
		t.Fatal(err)
	}
	waited := make(chan struct{})
	second := make(chan error, 1)
	go func() {
		release, err := lockFile(t.Context(), path, func() { close(waited) })
		if err == nil {
			release()
		}
		second <- err
	}()
	<-waited
	select {
	case err := <-second:
		t.Fatalf("two hold the lock, the second with error %v", err)
	default:
	}
	unlock()
	if err := <-second; err != nil {
		t.Error(err)
	}
}
