package quarantine

import (
	"context"
	"runtime"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// start runs the controller; the returned function ends it and waits.
func (f *fixture) start() (stop func()) {
	ctx, cancel := context.WithCancel(f.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- f.Run(ctx) }()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			f.t.Errorf("running: %v", err)
		}
	}
}

// await returns once condition holds. Time stands still meanwhile.
func await(condition func() bool) {
	for !condition() {
		runtime.Gosched()
	}
}

// awaitPause returns once the loop lets changes gather: it then waits for the clock
// beside its ticker.
func (f *fixture) awaitPause() { await(func() bool { return f.clock.Waiters() == 2 }) }

func (f *fixture) awaitWritten(verb string, times int) {
	await(func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.writes[verb] == times
	})
}

func TestRunFollowsTheFleet(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.source.set("node-1", fallen("GPU-A"))
	defer f.start()()
	f.awaitWritten("update status", 1)
	f.source.set("node-1", device("GPU-A", healthy))
	f.awaitPause()
	f.clock.Step(settle)
	f.awaitWritten("delete", 1)
}

// quarantined runs a controller that has quarantined GPU-A, whose object an operator
// then deleted.
func (f *fixture) quarantined() (stop func()) {
	f.t.Helper()
	f.source.set("node-1", fallen("GPU-A"))
	stop = f.start()
	f.awaitWritten("update status", 1)
	if err := f.Client.Delete(f.t.Context(), f.object("gpu-a")); err != nil {
		f.t.Fatal(err)
	}
	return stop
}

func TestRunFollowsTheObjects(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	objects := make(chan struct{}, 1)
	f.Objects = objects
	defer f.quarantined()()
	objects <- struct{}{}
	f.awaitPause()
	f.clock.Step(settle)
	f.awaitWritten("create", 2)
}

// Without any word the objects are looked at again now and then.
func TestRunLooksAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	defer f.quarantined()()
	f.clock.Step(resync)
	f.awaitPause()
	f.clock.Step(settle)
	f.awaitWritten("create", 2)
}

// An object that the server refuses is tried again without another word, and not as
// fast as the loop can.
func TestRunTriesAgainAtAPace(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.fail = func(verb string, _ client.Object) error {
		if verb == "create" {
			return apierrors.NewBadRequest("refused")
		}
		return nil
	}
	f.source.set("node-1", fallen("GPU-A"))
	defer f.start()()
	for try := 1; try <= 4; try++ {
		f.awaitWritten("create", try)
		f.awaitPause()
		f.clock.Step(retry - time.Millisecond)
		if f.clock.Waiters() != 2 {
			t.Fatalf("try %d was not waited for", try)
		}
		f.clock.Step(time.Millisecond)
	}
}
