package controlplane

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// stopPatience is more than the helper grants its components before it exits anyway.
const stopPatience = 10 * time.Second

// announcement is the line that the helper prints when it is ready.
type announcement struct {
	Kubeconfig string `json:"kubeconfig"`
	Server     string `json:"server"`
	Version    string `json:"version"`
}

// process is a running helper. It lives as long as its standard input is open.
type process struct {
	cmd      *exec.Cmd
	lifeline io.Closer
	done     chan struct{} // closed when the helper has ended
	once     sync.Once
	tail     *tail
}

// startProcess returns when the helper has announced itself. On error nothing is left running.
func startProcess(ctx context.Context, binary, dir string, opts Options) (*process, announcement, error) {
	var said announcement
	log, closeLog, err := openLog(dir, opts.Log)
	if err != nil {
		return nil, said, err
	}
	p := &process{done: make(chan struct{}), tail: &tail{}}
	// Not CommandContext: it would kill, and a killed helper cannot remove its files.
	p.cmd = exec.Command(binary, helperFlags(dir, opts)...) //nolint:noctx // ended through its standard input, see watch
	p.cmd.Stderr = io.MultiWriter(log, p.tail)
	p.cmd.SysProcAttr = ownProcessGroup()
	stdin, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, said, errors.Join(err, closeLog())
	}
	p.lifeline = stdin
	announced := make(chan announcement, 1)
	p.cmd.Stdout = &announcementReader{into: announced}
	if err := p.cmd.Start(); err != nil {
		return nil, said, errors.Join(err, closeLog())
	}
	go func() {
		_ = p.cmd.Wait() // how it ended is in its log
		_ = closeLog()
		close(p.done)
	}()
	go p.watch(ctx)

	select {
	case said = <-announced:
		return p, said, nil
	case <-p.done:
		return nil, said, fmt.Errorf("helper ended before it was ready: %s", p.tail.lastLines())
	case <-ctx.Done():
		p.stop()
		return nil, said, ctx.Err()
	}
}

// watch ends the helper with ctx. It returns when the helper has ended.
func (p *process) watch(ctx context.Context) {
	select {
	case <-ctx.Done():
		p.stop()
	case <-p.done:
	}
}

// stop closes the lifeline and waits.
func (p *process) stop() {
	p.once.Do(func() {
		_ = p.lifeline.Close()
		select {
		case <-p.done:
		case <-time.After(stopPatience):
			_ = p.cmd.Process.Kill()
		}
	})
	<-p.done
}

func helperFlags(dir string, opts Options) []string {
	flags := []string{
		"--dir=" + dir,
		"--ephemeral=" + strconv.FormatBool(opts.Dir == ""),
		"--fsync=" + strconv.FormatBool(opts.Fsync),
		"--port=" + strconv.Itoa(opts.Port),
	}
	if opts.EmulatedVersion != "" {
		flags = append(flags, "--emulated-version="+opts.EmulatedVersion)
	}
	if len(opts.FeatureGates) > 0 {
		flags = append(flags, "--feature-gates="+joinPairs(opts.FeatureGates))
	}
	if len(opts.RuntimeConfig) > 0 {
		flags = append(flags, "--runtime-config="+joinPairs(opts.RuntimeConfig))
	}
	for _, arg := range opts.APIServerArgs {
		flags = append(flags, "--apiserver-arg="+arg)
	}
	for _, arg := range opts.ControllerManagerArgs {
		flags = append(flags, "--controller-arg="+arg)
	}
	return flags
}

// joinPairs writes a map as Kubernetes components take it: "a=x,b=y", sorted.
func joinPairs[V any](pairs map[string]V) string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(pairs)) {
		out = append(out, fmt.Sprintf("%s=%v", key, pairs[key]))
	}
	return strings.Join(out, ",")
}

// openLog returns the writer for the helper's log and what closes it.
func openLog(dir string, given io.Writer) (io.Writer, func() error, error) {
	if given != nil {
		return given, func() error { return nil }, nil
	}
	file, err := os.OpenFile(filepath.Join(dir, "control-plane.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("opening the log: %w", err)
	}
	return file, file.Close, nil
}

// announcementReader decodes the first line that is written to it and ignores the rest.
type announcementReader struct {
	into chan<- announcement
	line bytes.Buffer
	sent bool
}

// Write is called by one goroutine of os/exec only.
func (r *announcementReader) Write(p []byte) (int, error) {
	if r.sent {
		return len(p), nil
	}
	r.line.Write(p)
	line, _, complete := bytes.Cut(r.line.Bytes(), []byte("\n"))
	if !complete {
		return len(p), nil
	}
	var said announcement
	if err := json.Unmarshal(line, &said); err != nil {
		return 0, fmt.Errorf("decoding the helper's announcement %q: %w", line, err)
	}
	r.sent = true
	r.into <- said // has room for the one value
	return len(p), nil
}
