package reserve

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/quota"
)

const team = "vision"

// server is an API server with one ledger and the pods that it is counted from.
type server struct {
	mu      sync.Mutex
	ledger  *v1alpha1.QuotaLedger // nil for none
	version int
	held    []quota.Held

	// before is called before each operation, without the lock; an error is its result.
	before func(ctx context.Context, operation string) error
	// log holds the operations that were begun.
	log []string
}

// newServer has a ledger of so many devices, which was counted once.
func newServer(t *testing.T, devices string, held ...quota.Held) *server {
	t.Helper()
	cfg, err := quota.Parse([]byte("teams: [{name: vision, limits: {devices: " + devices + "}}]"))
	if err != nil {
		t.Fatal(err)
	}
	ledger, _ := quota.Configure(nil, cfg, team)
	s := &server{held: held, version: 1}
	s.ledger = quota.Reconcile(ledger, held, nil, time.Now())
	s.ledger.ResourceVersion = "1"
	return s
}

func (s *server) begin(ctx context.Context, operation string) error {
	s.mu.Lock()
	s.log = append(s.log, operation)
	s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.before != nil {
		return s.before(ctx, operation)
	}
	return nil
}

func (s *server) operations() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.log...)
}

func (s *server) swap(ledger *v1alpha1.QuotaLedger) (*v1alpha1.QuotaLedger, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ledger == nil {
		return nil, apierrors.NewNotFound(v1alpha1.QuotaLedgerResource.GroupResource(), team)
	}
	if ledger.ResourceVersion != s.ledger.ResourceVersion {
		return nil, apierrors.NewConflict(v1alpha1.QuotaLedgerResource.GroupResource(), team, nil)
	}
	s.version++
	s.ledger = ledger.DeepCopy()
	s.ledger.ResourceVersion = strconv.Itoa(s.version)
	return s.ledger, nil
}

func (s *server) now() *v1alpha1.QuotaLedger {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ledger
}

// reserved is how many pods have a reservation.
func (s *server) reserved() int { return len(s.now().Status.Reservations) }

// replica is what one webhook sees of the server: its Latest is its own.
type replica struct {
	*server
	mu     sync.Mutex
	latest *v1alpha1.QuotaLedger
}

func (r *replica) learn(ledger *v1alpha1.QuotaLedger, err error) (*v1alpha1.QuotaLedger, error) {
	if err == nil {
		r.mu.Lock()
		r.latest = ledger
		r.mu.Unlock()
	}
	return ledger, err
}

func (r *replica) Latest(string) *v1alpha1.QuotaLedger {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.latest
}

func (r *replica) Get(ctx context.Context, _ string) (*v1alpha1.QuotaLedger, error) {
	if err := r.begin(ctx, "get"); err != nil {
		return nil, err
	}
	if ledger := r.now(); ledger != nil {
		return r.learn(ledger, nil)
	}
	return nil, apierrors.NewNotFound(v1alpha1.QuotaLedgerResource.GroupResource(), team)
}

func (r *replica) Update(ctx context.Context, ledger *v1alpha1.QuotaLedger) (*v1alpha1.QuotaLedger, error) {
	if err := r.begin(ctx, "update"); err != nil {
		return nil, err
	}
	return r.learn(r.swap(ledger))
}

// Count counts what the server holds. No reservation expires.
func (r *replica) Count(ctx context.Context, _ string) (*v1alpha1.QuotaLedger, error) {
	if err := r.begin(ctx, "count"); err != nil {
		return nil, err
	}
	for {
		ledger := r.now()
		if ledger == nil {
			return nil, quota.ErrNoTeam
		}
		counted := quota.Reconcile(ledger, r.held, func(types.UID) bool { return false }, time.Now())
		if ledger, err := r.learn(r.swap(counted)); err == nil {
			return ledger, nil
		}
	}
}

// newDesk is a desk of a webhook that knows the ledger as it is now.
func newDesk(s *server) *Desk {
	r := &replica{server: s, latest: s.now()}
	return New(r, r, clock.RealClock{}, func() float64 { return 0.5 })
}

func pod(name string, devices int64) quota.Want {
	return quota.Want{UID: types.UID(name), Namespace: "ns", Name: name, Demand: map[string]int64{"nvidia.com/gpu": devices}}
}

func holding(name string, devices int64) quota.Held {
	return quota.Held{UID: types.UID(name), Demand: map[string]int64{"nvidia.com/gpu": devices}}
}
