package reserve

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"wastenot.dev/quota"
)

// gate has the first of an operation wait until it is opened, or its context ends.
func gate(s *server, operation string) (open func()) {
	opened := make(chan struct{})
	var first atomic.Bool
	s.before = func(ctx context.Context, begun string) error {
		if begun != operation || first.Swap(true) {
			return nil
		}
		select {
		case <-opened:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return sync.OnceFunc(func() { close(opened) })
}

func TestOneWriteServesAllWhoWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, "100")
		open := gate(s, "update")
		desk := newDesk(s)
		var group sync.WaitGroup
		for i := range 50 {
			group.Go(func() {
				if verdict, err := desk.Reserve(t.Context(), team, pod(fmt.Sprint("pod-", i), 1)); err != nil || verdict.Outcome != quota.Fits {
					t.Errorf("got %s, %v", verdict.Outcome, err)
				}
			})
		}
		synctest.Wait() // One writes, the others wait.
		open()
		group.Wait()
		if got := len(s.operations()); got != 2 {
			t.Errorf("there were %d writes, want that of the first and that of the others", got)
		}
		if s.reserved() != 50 || len(desk.lines) != 0 {
			t.Errorf("%d pods are reserved, %d lines are left", s.reserved(), len(desk.lines))
		}
	})
}

// Who has the line may have less time than those who wait in it.
func TestTheLineOutlivesItsLeader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, "8")
		gate(s, "update") // It never opens: the write ends with its context.
		desk := newDesk(s)
		var group sync.WaitGroup
		group.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if _, err := desk.Reserve(ctx, team, pod("leader", 1)); !errors.Is(err, ErrBusy) {
				t.Errorf("the leader got %v, want ErrBusy", err)
			}
		})
		synctest.Wait()
		for i := range 5 {
			group.Go(func() {
				if verdict, err := desk.Reserve(t.Context(), team, pod(fmt.Sprint("pod-", i), 1)); err != nil || verdict.Outcome != quota.Fits {
					t.Errorf("got %s, %v", verdict.Outcome, err)
				}
			})
		}
		group.Wait()
		if s.reserved() != 5 || len(desk.lines) != 0 {
			t.Errorf("%d pods are reserved, %d lines are left", s.reserved(), len(desk.lines))
		}
	})
}

func TestWhoLeavesTheLineHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, "8")
		open := gate(s, "update")
		desk := newDesk(s)
		var group sync.WaitGroup
		reserve := func(ctx context.Context, name string, want error) {
			group.Go(func() {
				if _, err := desk.Reserve(ctx, team, pod(name, 1)); !errors.Is(err, want) {
					t.Errorf("%s got %v, want %v", name, err, want)
				}
			})
			synctest.Wait()
		}
		leaving, leave := context.WithCancel(t.Context())
		reserve(t.Context(), "first", nil)
		reserve(leaving, "leaver", ErrBusy)
		reserve(t.Context(), "last", nil)
		leave()
		synctest.Wait()
		open()
		group.Wait()
		if s.reserved() != 2 || len(desk.lines) != 0 {
			t.Errorf("%d pods are reserved, %d lines are left", s.reserved(), len(desk.lines))
		}
	})
}

// One that leaves in the moment in which it gets the line hands it on.
func TestTheLineIsNeverLost(t *testing.T) {
	t.Parallel()
	desk := newDesk(newServer(t, "8"))
	first, second, third := newWaiter("first"), newWaiter("second"), newWaiter("third")
	if !desk.join(team, first) || desk.join(team, second) || desk.join(team, third) {
		t.Fatal("not the first has the line")
	}
	if batch := desk.take(team); len(batch) != 3 {
		t.Fatalf("%d are in line", len(batch))
	}
	desk.handOn(team, first, []*waiter{first, second, third})
	desk.leave(team, second)
	select {
	case <-third.lead:
	default:
		t.Fatal("nobody has the line")
	}
	desk.leave(team, third)
	desk.handOn(team, third, nil)
	if len(desk.lines) != 0 {
		t.Error("the line is left")
	}
}

func newWaiter(name string) *waiter {
	return &waiter{want: pod(name, 1), answer: make(chan answer, 1), lead: make(chan struct{}, 1)}
}

func TestAPanicLosesNeitherLineNorCount(t *testing.T) {
	t.Parallel()
	s := newServer(t, "8", holding("old", 8))
	s.before = func(context.Context, string) error { panic("broken") }
	desk := newDesk(s)
	func() {
		defer func() { _ = recover() }()
		_, _ = desk.Reserve(t.Context(), team, pod("a", 1))
	}()
	s.before = nil
	if verdict, err := desk.Reserve(t.Context(), team, pod("b", 1)); err != nil || verdict.Outcome != quota.Over {
		t.Errorf("got %s, %v", verdict.Outcome, err)
	}
}

func TestCountsAreShared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, "8", holding("old", 8))
		open := gate(s, "count")
		desk := newDesk(s)
		var group sync.WaitGroup
		for i := range 20 {
			group.Go(func() {
				ctx, cancel := context.WithCancel(t.Context())
				if i == 0 {
					cancel() // Whoever began the count need not be there at its end.
				}
				defer cancel()
				verdict, err := desk.Check(ctx, team, pod("a", 1))
				if i > 0 && (err != nil || verdict.Outcome != quota.Over) {
					t.Errorf("got %s, %v", verdict.Outcome, err)
				}
			})
			synctest.Wait()
		}
		open()
		group.Wait()
		if got := len(slices.DeleteFunc(s.operations(), func(o string) bool { return o != "count" })); got != 1 {
			t.Errorf("there were %d counts", got)
		}
	})
}

// 200 pods are created at once at three webhooks, and one device is left.
func TestOneOfManyGetsTheLastDevice(t *testing.T) {
	t.Parallel()
	s := newServer(t, "8", holding("old", 7))
	desks := []*Desk{newDesk(s), newDesk(s), newDesk(s)}
	var fits, refused atomic.Int64
	var group sync.WaitGroup
	start := make(chan struct{})
	for i := range 200 {
		group.Go(func() {
			<-start
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			verdict, err := desks[i%len(desks)].Reserve(ctx, team, pod(fmt.Sprint("pod-", i), 1))
			switch {
			case err != nil:
				t.Errorf("pod %d: %v", i, err)
			case verdict.Admitted():
				fits.Add(1)
			case verdict.Outcome == quota.Busy:
				refused.Add(1)
			}
		})
	}
	close(start)
	group.Wait()
	if fits.Load() != 1 || refused.Load() != 199 || s.reserved() != 1 {
		t.Errorf("%d fit and %d are told to come again, want 1 and 199; %d are reserved", fits.Load(), refused.Load(), s.reserved())
	}
}
