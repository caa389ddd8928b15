package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"wastenot.dev/test/perf/scheduling/pairs"
	"wastenot.dev/test/perf/scheduling/workload"
)

// process plays a workload in a process of its own.
type process struct {
	binary, dir, etcd, keep string
	// ours is the name of our profile.
	ours    string
	timeout time.Duration
	short   bool
}

func (o *options) process() *process {
	return &process{binary: o.binary, dir: o.dir, etcd: o.etcd, keep: o.keep, ours: o.ours, timeout: o.timeout, short: o.short}
}

// measure plays the workload once and reads what it says. The log of a run that failed is
// kept.
func (p *process) measure(ctx context.Context, w workload.Workload, pair int, s side) pairs.Run {
	kept, err := p.folder(w, pair, s)
	if err != nil {
		return pairs.Run{Err: err}
	}
	log := filepath.Join(kept, "run.log")
	if err := p.play(ctx, w, s, kept, log); err != nil {
		return pairs.Run{Err: fmt.Errorf("%w; its log is %s", err, p.shown(log))}
	}
	run := readRun(kept)
	if run.Err != nil {
		run.Err = fmt.Errorf("%w; its log is %s", run.Err, p.shown(log))
		return run
	}
	_ = os.Remove(log) // It is long, and nobody will ask for it.
	return run
}

// folder makes an empty folder for what the run leaves.
func (p *process) folder(w workload.Workload, pair int, s side) (string, error) {
	kept, err := filepath.Abs(filepath.Join(p.keep, strings.ReplaceAll(w.Name(), "/", "-"), fmt.Sprintf("%02d-%s", pair, s)))
	if err == nil {
		err = os.RemoveAll(kept)
	}
	if err == nil {
		err = os.MkdirAll(kept, 0o750)
	}
	if err != nil {
		return "", fmt.Errorf("making a folder for the run: %w", err)
	}
	return kept, nil
}

// shown is the path as it stands in reports: from the working directory of whoever gave
// keep, and not where that lies on this machine.
func (p *process) shown(path string) string {
	if keep, err := filepath.Abs(p.keep); err == nil {
		if inside, err := filepath.Rel(keep, path); err == nil {
			return filepath.Join(p.keep, inside)
		}
	}
	return path
}

// play starts the test binary and waits for it and everything that it started.
func (p *process) play(ctx context.Context, w workload.Workload, s side, kept, log string) error {
	scratch, err := os.MkdirTemp(memoryDir(), "wn") // A socket lies in it, whose path must be short.
	if err != nil {
		return fmt.Errorf("making a folder for etcd: %w", err)
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	output, err := os.Create(log)
	if err != nil {
		return fmt.Errorf("making the log: %w", err)
	}
	defer func() { _ = output.Close() }()

	limited, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	cmd := exec.CommandContext(limited, p.binary, p.args(w, s, kept)...)
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), "PATH="+p.etcd+string(os.PathListSeparator)+os.Getenv("PATH"), "TMPDIR="+scratch, "ARTIFACTS="+kept)
	cmd.Stdout, cmd.Stderr = output, output
	inGroup(cmd)
	err = cmd.Run()
	endGroup(cmd)
	if limited.Err() != nil {
		return errors.Join(limited.Err(), fmt.Errorf("the run was ended, it may take %s", p.timeout))
	}
	if err != nil {
		return fmt.Errorf("running the benchmark: %w", err)
	}
	return nil
}

func (p *process) args(w workload.Workload, s side, kept string) []string {
	profile := string(s)
	if s == ours {
		profile = p.ours
	}
	args := []string{
		"-test.run=^$", "-test.bench=^BenchmarkPerfScheduling$", "-test.benchtime=1ns", "-test.timeout=" + p.timeout.String(),
		"-data-items-dir=" + kept, "-workload=" + w.CatalogueName(), "-profile=" + profile,
	}
	if p.short {
		args = append(args, "-small")
	}
	return args
}

// memoryDir is a folder in memory where there is one, so that no disk is measured; ""
// means the default.
func memoryDir() string {
	const shm = "/dev/shm"
	if info, err := os.Stat(shm); err == nil && info.IsDir() {
		return shm
	}
	return ""
}
