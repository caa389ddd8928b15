package controlplane

import (
	"bytes"
	"strings"
	"sync"
)

// tail remembers the end of a log, for the error message of a helper that did
// not come up.
type tail struct {
	mu   sync.Mutex
	data []byte
}

const (
	tailBytes = 8 << 10
	tailLines = 15
)

// Write never fails.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = append(t.data, p...)
	if extra := len(t.data) - tailBytes; extra > 0 {
		t.data = bytes.Clone(t.data[extra:])
	}
	return len(p), nil
}

// lastLines returns the newest lines that were written.
func (t *tail) lastLines() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(string(t.data)), "\n")
	return strings.Join(lines[max(0, len(lines)-tailLines):], "\n")
}
