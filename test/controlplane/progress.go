package controlplane

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// progressInterval is how long a person waits before wondering whether it hangs.
const progressInterval = 10 * time.Second

// buildProgress counts the package names that `go build -v` writes and reports
// the count now and then. The go command names only what it really compiles, so
// with a warm build cache the count ends far below the total.
type buildProgress struct {
	out      io.Writer
	total    int
	interval time.Duration
	packages atomic.Int64
	quit     chan struct{}
	done     sync.WaitGroup
}

func newBuildProgress(out io.Writer, total int) *buildProgress {
	return &buildProgress{out: out, total: total, interval: progressInterval, quit: make(chan struct{})}
}

// Write counts the lines of `go build -v`; "# package" starts a compiler message.
func (b *buildProgress) Write(p []byte) (int, error) {
	for line := range bytes.Lines(p) {
		if bytes.HasSuffix(line, []byte("\n")) && !bytes.HasPrefix(line, []byte("#")) {
			b.packages.Add(1)
		}
	}
	return len(p), nil
}

// start reports until stop, which waits for the last line to be written.
func (b *buildProgress) start() {
	began := time.Now()
	fmt.Fprintf(b.out, "control plane: compiling (%d packages, minutes from cold, once per machine)\n", b.total)
	b.done.Go(func() {
		ticker := time.NewTicker(b.interval)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				fmt.Fprintf(b.out, "control plane: compiled %d of at most %d packages in %s\n",
					b.packages.Load(), b.total, time.Since(began).Round(time.Second))
			case <-b.quit:
				fmt.Fprintf(b.out, "control plane: compiled in %s\n", time.Since(began).Round(time.Second))
				return
			}
		}
	})
}

func (b *buildProgress) stop() {
	close(b.quit)
	b.done.Wait()
}
