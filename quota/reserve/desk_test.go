package reserve

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/quota"
)

var conflict = apierrors.NewConflict(v1alpha1.QuotaLedgerResource.GroupResource(), team, nil)

func TestReserve(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	tests := map[string]struct {
		arrange func(s *server)
		want    quota.Want
		outcome quota.Outcome
		err     error
		log     []string
	}{
		"fits":                       {nil, pod("a", 2), quota.Fits, nil, []string{"update"}},
		"known":                      {nil, pod("known", 1), quota.Known, nil, nil},
		"wants nothing":              {nil, pod("a", 0), quota.Fits, nil, nil},
		"over":                       {nil, pod("a", 6), quota.Over, nil, []string{"count"}},
		"busy":                       {nil, pod("a", 3), quota.Busy, nil, []string{"count"}},
		"over before a pod ended":    {func(s *server) { s.held = nil }, pod("a", 6), quota.Fits, nil, []string{"count", "update"}},
		"over, and no count":         {failing("count", broken), pod("a", 6), quota.Over, nil, []string{"count", "get"}},
		"over, and nothing is known": {func(s *server) { s.before = func(context.Context, string) error { return broken } }, pod("a", 6), 0, broken, []string{"count", "get"}},
		"cannot be written":          {failing("update", broken), pod("a", 1), 0, broken, []string{"update"}},
		"one conflict":               {failingOnce("update", conflict), pod("a", 1), quota.Fits, nil, []string{"update", "get", "update"}},
		"behind": {
			func(s *server) { s.version++; s.ledger = s.ledger.DeepCopy(); s.ledger.ResourceVersion = "2" },
			pod("a", 1), quota.Fits, nil, []string{"update", "get", "update"},
		},
		"behind, and over since": {
			func(s *server) {
				s.held = append(s.held, holding("other", 3))
				s.ledger = quota.Reconcile(s.ledger, s.held, nil, time.Now())
				s.ledger.ResourceVersion = "2"
			},
			pod("a", 1), quota.Over, nil, []string{"update", "get", "count"},
		},
		"deleted": {func(s *server) { s.ledger = nil }, pod("a", 1), 0, quota.ErrNoTeam, []string{"update", "count"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, "8", holding("old", 5), holding("known", 0))
			s.ledger, _ = quota.Admit(s.ledger, pod("known", 1), time.Now())
			s.held = []quota.Held{holding("old", 5)}
			desk := newDesk(s)
			if tt.arrange != nil {
				tt.arrange(s)
			}
			verdict, err := desk.Reserve(t.Context(), team, tt.want)
			if !errors.Is(err, tt.err) || (err != nil) != (tt.err != nil) {
				t.Fatalf("got error %v, want %v", err, tt.err)
			}
			if err == nil && verdict.Outcome != tt.outcome {
				t.Errorf("got %s, want %s: %v", verdict.Outcome, tt.outcome, verdict)
			}
			if diff := cmp.Diff(tt.log, s.operations(), cmp.Transformer("none", func(s []string) []string { return append([]string{}, s...) })); diff != "" {
				t.Error(diff)
			}
			if len(desk.lines) != 0 || len(desk.counts) != 0 {
				t.Error("the desk is not empty")
			}
		})
	}
}

func failing(operation string, err error) func(*server) {
	return func(s *server) {
		s.before = func(_ context.Context, begun string) error {
			if begun == operation {
				return err
			}
			return nil
		}
	}
}

func failingOnce(operation string, err error) func(*server) {
	return func(s *server) {
		var failed bool
		s.before = func(_ context.Context, begun string) error {
			if begun == operation && !failed {
				failed = true
				return err
			}
			return nil
		}
	}
}

func TestNothingIsAllowedBeforeTheFirstCount(t *testing.T) {
	t.Parallel()
	s := newServer(t, "8")
	s.ledger.Status = v1alpha1.QuotaLedgerStatus{}
	s.held = []quota.Held{holding("old", 8)}
	desk := newDesk(s)
	if verdict, err := desk.Reserve(t.Context(), team, pod("a", 1)); err != nil || verdict.Outcome != quota.Over {
		t.Errorf("got %s, %v, want Over", verdict.Outcome, err)
	}
	s.ledger.Status = v1alpha1.QuotaLedgerStatus{}
	desk = newDesk(s)
	failing("count", errors.New("broken"))(s)
	if verdict, err := desk.Reserve(t.Context(), team, pod("a", 1)); err == nil {
		t.Errorf("got %s without a count", verdict.Outcome)
	}
	if verdict, err := desk.Check(t.Context(), team, pod("a", 1)); err == nil {
		t.Errorf("a dry run got %s without a count", verdict.Outcome)
	}
}

func TestCheckWritesNothing(t *testing.T) {
	t.Parallel()
	s := newServer(t, "8", holding("old", 5))
	desk := newDesk(s)
	for devices, want := range map[int64]quota.Outcome{3: quota.Fits, 4: quota.Over} {
		if verdict, err := desk.Check(t.Context(), team, pod("a", devices)); err != nil || verdict.Outcome != want {
			t.Errorf("%d: got %s, %v, want %s", devices, verdict.Outcome, err, want)
		}
	}
	if diff := cmp.Diff([]string{"count"}, s.operations()); diff != "" {
		t.Error(diff)
	}
	failing("count", errors.New("broken"))(s)
	if verdict, err := desk.Check(t.Context(), team, pod("a", 4)); err != nil || verdict.Outcome != quota.Over {
		t.Errorf("without a count: got %s, %v", verdict.Outcome, err)
	}
	if s.reserved() != 0 {
		t.Error("a dry run reserved")
	}
}

func TestConflictsEndBeforeTheDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, "8")
		failing("update", conflict)(s)
		desk := newDesk(s)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		began := time.Now()
		if _, err := desk.Reserve(ctx, team, pod("a", 1)); !errors.Is(err, ErrBusy) {
			t.Errorf("got %v, want ErrBusy", err)
		}
		if took := time.Since(began); took != 2*time.Second-margin {
			t.Errorf("it took %s", took)
		}
		// 5, 10, 20, 40, 80 ms, and then 160 ms each.
		if tries := slices.DeleteFunc(s.operations(), func(o string) bool { return o != "update" }); len(tries) != 16 {
			t.Errorf("it was tried %d times", len(tries))
		}
	})
}

func TestASlowCountDoesNotHoldARefusalUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, "8", holding("old", 8))
		s.before = func(ctx context.Context, operation string) error {
			if operation == "count" {
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		}
		began := time.Now()
		verdict, err := newDesk(s).Reserve(t.Context(), team, pod("a", 1))
		if err != nil || verdict.Outcome != quota.Over {
			t.Errorf("got %s, %v, want Over", verdict.Outcome, err)
		}
		if took := time.Since(began); took != recountPatience {
			t.Errorf("it took %s", took)
		}
	})
}
