package controlplane

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

const (
	envCache  = "WASTENOT_CACHE"
	envBinary = "WASTENOT_CONTROLPLANE_BIN"

	helperPackage  = "wastenot.dev/test/controlplane/server"
	versionPackage = "k8s.io/component-base/version"
)

// helperBinary returns the path of the compiled helper and compiles it when
// this exact one (sources, dependencies, toolchain) is not in the cache.
func helperBinary(ctx context.Context, progress io.Writer) (string, error) {
	if progress == nil {
		progress = io.Discard
	}
	if path := os.Getenv(envBinary); path != "" {
		if _, err := os.Stat(path); err != nil {
			return "", fmt.Errorf("looking for %s: %w", envBinary, err)
		}
		return path, nil
	}
	source, err := findHelper(ctx)
	if err != nil {
		return "", fmt.Errorf("finding the control plane's source (set %s to use a compiled one): %w", envBinary, err)
	}
	key, err := source.hash()
	if err != nil {
		return "", fmt.Errorf("hashing the control plane's source: %w", err)
	}
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	binary := filepath.Join(cache, "controlplane-"+key)
	if exists(binary) {
		return binary, nil
	}

	unlock, err := lockFile(ctx, filepath.Join(cache, "controlplane.lock"), func() {
		fmt.Fprintln(progress, "control plane: waiting for another process that compiles it")
	})
	if err != nil {
		return "", err
	}
	defer unlock()
	if exists(binary) {
		return binary, nil
	}
	if err := source.compile(ctx, binary, progress); err != nil {
		return "", fmt.Errorf("compiling the control plane: %w", err)
	}
	return binary, nil
}

// helperSource is where the helper is compiled from.
type helperSource struct {
	packageDir string
	moduleDir  string
	kubernetes string // version of k8s.io/kubernetes, such as v1.37.2
}

// findHelper asks the go command, which knows the module around the working
// directory; a test runs in the directory of its package.
func findHelper(ctx context.Context) (helperSource, error) {
	out, err := goCommand(ctx, "", "list", "-f", "{{.Dir}}\n{{.Module.Dir}}", helperPackage)
	if err != nil {
		return helperSource{}, err
	}
	dirs := strings.Fields(out)
	if len(dirs) != 2 {
		return helperSource{}, fmt.Errorf("go list says %q instead of two directories", out)
	}
	version, err := goCommand(ctx, dirs[1], "list", "-m", "-f", "{{.Version}}", "k8s.io/kubernetes")
	if err != nil {
		return helperSource{}, err
	}
	return helperSource{packageDir: dirs[0], moduleDir: dirs[1], kubernetes: version}, nil
}

// hash covers everything that decides the bytes of the binary, short of the
// environment of the C compiler, which is not used.
func (s helperSource) hash() (string, error) {
	files, err := filepath.Glob(filepath.Join(s.packageDir, "*.go"))
	if err != nil {
		return "", err
	}
	slices.Sort(files)
	files = append(files, filepath.Join(s.moduleDir, "go.sum"))
	sum := sha256.New()
	fmt.Fprintln(sum, runtime.Version(), runtime.GOOS, runtime.GOARCH, s.kubernetes)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		content, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		fmt.Fprintln(sum, filepath.Base(file), len(content))
		sum.Write(content)
	}
	return hex.EncodeToString(sum.Sum(nil))[:16], nil
}

// compile writes the binary under a temporary name first, so that nobody ever
// runs half of one.
func (s helperSource) compile(ctx context.Context, binary string, progress io.Writer) error {
	total, err := s.countPackages(ctx)
	if err != nil {
		return err
	}
	partial := binary + ".partial"
	cmd := exec.CommandContext(ctx, "go", "build", "-v", "-o", partial, "-ldflags", s.linkerFlags(), helperPackage)
	cmd.Dir = s.moduleDir
	counter := newBuildProgress(progress, total)
	errorsOut := &tail{}
	cmd.Stderr = io.MultiWriter(counter, errorsOut)
	counter.start()
	err = cmd.Run()
	counter.stop()
	if err != nil {
		return fmt.Errorf("%w: %s", err, errorsOut.lastLines())
	}
	return os.Rename(partial, binary)
}

// linkerFlags stamp the version: kubectl and kube-scheduler refuse a server
// that calls itself v0.0.0. Debug information would double the linking time.
func (s helperSource) linkerFlags() string {
	flags := []string{"-s", "-w", "-X", versionPackage + ".gitVersion=" + s.kubernetes}
	if major, rest, ok := strings.Cut(strings.TrimPrefix(s.kubernetes, "v"), "."); ok {
		minor, _, _ := strings.Cut(rest, ".")
		flags = append(flags, "-X", versionPackage+".gitMajor="+major, "-X", versionPackage+".gitMinor="+minor)
	}
	return strings.Join(flags, " ")
}

func (s helperSource) countPackages(ctx context.Context) (int, error) {
	out, err := goCommand(ctx, s.moduleDir, "list", "-deps", helperPackage)
	if err != nil {
		return 0, err
	}
	return len(strings.Fields(out)), nil
}

func cacheDir() (string, error) {
	dir := os.Getenv(envCache)
	if dir == "" {
		base, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("finding the cache directory (set %s): %w", envCache, err)
		}
		dir = filepath.Join(base, "wastenot")
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return "", fmt.Errorf("making the cache directory: %w", err)
	}
	return dir, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// goCommand returns the trimmed standard output of the go command.
func goCommand(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, strings.TrimSpace(stderr.String()))
		}
		return "", fmt.Errorf("running go %s: %w", args[0], err)
	}
	return strings.TrimSpace(string(out)), nil
}
