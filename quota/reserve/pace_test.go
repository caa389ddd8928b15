package reserve

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/quota"
)

// The first pod after a while is not held up; those right after it share a write.
func TestWritesAreGathered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, "100")
		desk := newDesk(s)
		began := time.Now()
		if _, err := desk.Reserve(t.Context(), team, pod("first", 1)); err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(began); waited != 0 {
			t.Errorf("the first waited %s", waited)
		}
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				time.Sleep(time.Duration(i) * time.Millisecond)
				if verdict, err := desk.Reserve(t.Context(), team, pod(fmt.Sprint(i), 1)); err != nil || verdict.Outcome != quota.Fits {
					t.Errorf("pod %d: %s, %v", i, verdict.Outcome, err)
				}
			})
		}
		all.Wait()
		if waited := time.Since(began); waited != pace {
			t.Errorf("the others waited %s, want %s", waited, pace)
		}
		if got, want := s.operations(), []string{"update", "update"}; !slices.Equal(got, want) {
			t.Errorf("operations %v, want %v", got, want)
		}
		time.Sleep(pace)
		began = time.Now()
		if _, err := desk.Reserve(t.Context(), team, pod("late", 1)); err != nil || time.Since(began) != 0 {
			t.Errorf("one that came later waited %s: %v", time.Since(began), err)
		}
	})
}

// Who comes while a write is tried again is decided by the same write.
func TestWhoComesDuringARetryJoins(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, "8")
		desk := newDesk(s)
		tries := 0
		s.before = func(_ context.Context, operation string) error {
			if operation != "update" {
				return nil
			}
			if tries++; tries > 2 {
				return nil
			}
			return conflict
		}
		var all sync.WaitGroup
		for i := range 5 {
			all.Go(func() {
				time.Sleep(time.Duration(i) * time.Millisecond)
				if verdict, err := desk.Reserve(t.Context(), team, pod(fmt.Sprint(i), 1)); err != nil || verdict.Outcome != quota.Fits {
					t.Errorf("pod %d: %s, %v", i, verdict.Outcome, err)
				}
			})
		}
		all.Wait()
		if tries != 3 || s.reserved() != 5 {
			t.Errorf("%d writes were tried for %d pods, want 3 for 5", tries, s.reserved())
		}
	})
}

// What the watch has told since the write failed need not be read again.
func TestAConflictThatTheWatchExplains(t *testing.T) {
	t.Parallel()
	s := newServer(t, "8")
	r := &replica{server: s, latest: s.now()}
	var once sync.Once
	s.before = func(context.Context, string) error {
		once.Do(func() {
			other, _ := quota.Admit(s.now(), pod("other", 1), time.Now())
			if _, err := r.learn(s.swap(other)); err != nil {
				t.Error(err)
			}
		})
		return nil
	}
	// The desk knows what was before.
	stale := s.now()
	desk := New(&behind{replica: r, first: stale}, r, clock.RealClock{}, func() float64 { return 0 })
	if verdict, err := desk.Reserve(t.Context(), team, pod("a", 1)); err != nil || verdict.Outcome != quota.Fits {
		t.Fatalf("%s, %v", verdict.Outcome, err)
	}
	if got, want := s.operations(), []string{"update", "update"}; !slices.Equal(got, want) || s.reserved() != 2 {
		t.Errorf("operations %v, want %v; %d reservations, want 2", got, want, s.reserved())
	}
}

// behind is a replica whose watch tells one change late.
type behind struct {
	*replica
	first *v1alpha1.QuotaLedger
}

// Latest is the old ledger the first time.
func (b *behind) Latest(name string) *v1alpha1.QuotaLedger {
	if first := b.first; first != nil {
		b.first = nil
		return first
	}
	return b.replica.Latest(name)
}
