//go:build unix

package controlplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// ownProcessGroup keeps a Ctrl-C at the terminal away from the helper: the
// parent decides when the control plane ends, after what uses it.
func ownProcessGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}

// lockFile takes an exclusive lock on path across processes, because go test
// runs packages side by side and each of them may find the helper missing.
// waiting is called once if somebody else holds the lock. The kernel releases
// the lock of a process that dies.
func lockFile(ctx context.Context, path string, waiting func()) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the build lock: %w", err)
	}
	said := false
	err = wait.PollUntilContextCancel(ctx, 200*time.Millisecond, true, func(context.Context) (bool, error) {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if errors.Is(err, syscall.EWOULDBLOCK) {
			if !said {
				said = true
				waiting()
			}
			return false, nil
		}
		return err == nil, err
	})
	if err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("taking the build lock: %w", err)
	}
	return func() { _ = file.Close() }, nil
}
