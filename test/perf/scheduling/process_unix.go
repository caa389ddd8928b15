//go:build unix

package main

import (
	"os/exec"
	"syscall"
	"time"
)

// inGroup has the command started in a process group of its own, all of which ends with
// its context: etcd is a child of it.
func inGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 10 * time.Second
}

// endGroup ends what the command has left behind.
func endGroup(cmd *exec.Cmd) {
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // Mostly nothing is left.
	}
}
