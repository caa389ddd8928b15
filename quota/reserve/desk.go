package reserve

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/quota"
)

const (
	// margin is how long before the caller's deadline the answer is given.
	margin = 200 * time.Millisecond
	// patience is how long a caller without a deadline waits.
	patience = 3 * time.Second
	// recountPatience bounds the count before a refusal, firstPatience that of a ledger
	// which nobody has counted for.
	recountPatience, firstPatience = 300 * time.Millisecond, 3 * time.Second
	// backoff is how long the first try after a conflict waits, on average; it doubles
	// up to maxBackoff.
	backoff, maxBackoff = 5 * time.Millisecond, 160 * time.Millisecond
	// pace is the least time between two writes of ours for one team. The more replicas
	// write the same ledger, the more of their writes fail, so each gathers who comes
	// meanwhile; the first after a while is not held up.
	pace = 25 * time.Millisecond
)

// ErrBusy tells that the ledger could not be written in time, because others write it or
// the API server is slow. The pod has no reservation that its caller may rely on; the
// same request may be made again.
var ErrBusy = errors.New("the quota ledger is busy; try again")

// Store keeps the ledgers, as quota/store does.
type Store interface {
	// Latest is what is known without I/O; nil for nothing.
	Latest(team string) *v1alpha1.QuotaLedger
	// Get reads from the API server.
	Get(ctx context.Context, team string) (*v1alpha1.QuotaLedger, error)
	// Update is a compare-and-swap; apierrors.IsConflict tells that it failed as one.
	Update(ctx context.Context, ledger *v1alpha1.QuotaLedger) (*v1alpha1.QuotaLedger, error)
}

// Counter counts what a team's pods hold, as quota/reconcile does, and returns the ledger
// as it then is. It creates the ledger of a configured team that has none; quota.ErrNoTeam
// tells that the team is not configured.
type Counter interface {
	Count(ctx context.Context, team string) (*v1alpha1.QuotaLedger, error)
}

// Desk reserves. Make one for the process with New.
type Desk struct {
	store   Store
	counter Counter
	clock   clock.Clock
	random  func() float64

	mu     sync.Mutex
	lines  map[string]*line
	counts map[string]*count
	// wrote is when each team's ledger was last written from here.
	wrote map[string]time.Time
}

// New returns a desk. random gives numbers from 0 up to 1 and may be called from many
// goroutines at once, as rand.Float64 of math/rand/v2 may.
func New(store Store, counter Counter, clk clock.Clock, random func() float64) *Desk {
	return &Desk{store: store, counter: counter, clock: clk, random: random, lines: map[string]*line{}, counts: map[string]*count{}, wrote: map[string]time.Time{}}
}

// Reserve reserves what the pod wants and returns once that is stored, or the verdict
// that keeps it from it. It takes until 200 ms before ctx's deadline, 3 s without one,
// and then returns ErrBusy. Any other error tells that the ledger cannot be read or
// written; quota.ErrNoTeam that the team is not configured. After an error the
// verdict says nothing.
func (d *Desk) Reserve(ctx context.Context, team string, want quota.Want) (quota.Verdict, error) {
	ctx, cancel := d.limit(ctx)
	defer cancel()
	w := &waiter{want: want, answer: make(chan answer, 1), lead: make(chan struct{}, 1)}
	if d.join(team, w) {
		d.serve(ctx, team, w)
		return w.result()
	}
	select {
	case a := <-w.answer:
		return a.verdict, a.err
	case <-w.lead:
		d.serve(ctx, team, w)
	case <-ctx.Done():
		d.leave(team, w)
	}
	return w.result()
}

// Check returns what Reserve would, and writes nothing but a count. It is for dry runs
// and for namespaces that only observe.
func (d *Desk) Check(ctx context.Context, team string, want quota.Want) (quota.Verdict, error) {
	ctx, cancel := d.limit(ctx)
	defer cancel()
	ledger := d.store.Latest(team)
	if uncounted(ledger) {
		counted, err := d.count(ctx, team, firstPatience)
		if err != nil {
			return quota.Verdict{}, err
		}
		return quota.Check(counted, want), nil
	}
	if verdict := quota.Check(ledger, want); verdict.Admitted() {
		return verdict, nil
	}
	ledger, err := d.recount(ctx, team)
	if err != nil {
		return quota.Verdict{}, err
	}
	return quota.Check(ledger, want), nil
}

func (d *Desk) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	if deadline, ok := ctx.Deadline(); ok {
		return context.WithDeadline(ctx, deadline.Add(-margin))
	}
	return context.WithTimeout(ctx, patience)
}

// decide answers the batch and who joins it meanwhile: the more others write, the more
// one write of ours decides. Whom it has not answered when ctx ends it leaves in the
// batch: another's time may not be over.
func (d *Desk) decide(ctx context.Context, team string, all *[]*waiter) {
	d.await(ctx, d.untilNext(team))
	ledger, recounted := d.store.Latest(team), false
	for try := 0; ; try++ {
		batch := d.present(append(*all, d.take(team)...))
		if *all = batch; len(batch) == 0 || ctx.Err() != nil {
			return
		}
		first := uncounted(ledger)
		next, verdicts := ledger, []quota.Verdict(nil)
		if !first {
			next, verdicts = judge(ledger, batch, d.clock.Now())
		}
		var err error
		switch {
		case first:
			recounted = true
			ledger, err = d.count(ctx, team, firstPatience)
		case !recounted && anyRefused(verdicts):
			recounted = true
			ledger, err = d.recount(ctx, team)
		default:
			var done bool
			if ledger, done, err = d.swap(ctx, team, ledger, next, try); done {
				answerAll(batch, verdicts)
				*all = nil
				return
			}
		}
		if err != nil && ctx.Err() == nil {
			failAll(batch, err)
			*all = nil
			return
		}
	}
}

// swap writes the next ledger, and tells whether that is done. After a conflict it waits
// a little and returns the ledger as it is now.
func (d *Desk) swap(ctx context.Context, team string, ledger, next *v1alpha1.QuotaLedger, try int) (*v1alpha1.QuotaLedger, bool, error) {
	if next == ledger {
		return ledger, true, nil
	}
	_, err := d.store.Update(ctx, next)
	switch {
	case err == nil:
		d.noteWrite(team)
		return next, true, nil
	case apierrors.IsNotFound(err):
		return nil, false, nil // It was deleted: a count begins another, or says that there is none.
	case !apierrors.IsConflict(err):
		return nil, false, err
	}
	pause := min(backoff<<min(try, 10), maxBackoff)
	if !d.await(ctx, time.Duration((0.5+d.random())*float64(pause))) {
		return nil, false, fmt.Errorf("waiting for the ledger of team %s: %w", team, ctx.Err())
	}
	// The watch may have told already what was in the way.
	if latest := d.store.Latest(team); latest != nil && latest.ResourceVersion != ledger.ResourceVersion {
		return latest, false, nil
	}
	ledger, err = d.store.Get(ctx, team)
	if apierrors.IsNotFound(err) {
		return nil, false, nil
	}
	return ledger, false, err
}

// await waits, and tells whether ctx lasted.
func (d *Desk) await(ctx context.Context, pause time.Duration) bool {
	if pause <= 0 {
		return ctx.Err() == nil
	}
	select {
	case <-ctx.Done():
		return false
	case <-d.clock.After(pause):
		return true
	}
}

// untilNext is how long the team's ledger should not be written yet.
func (d *Desk) untilNext(team string) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return pace - d.clock.Since(d.wrote[team])
}

func (d *Desk) noteWrite(team string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.wrote[team] = d.clock.Now()
}

// judge admits all who fit, one after the other.
func judge(ledger *v1alpha1.QuotaLedger, batch []*waiter, now time.Time) (*v1alpha1.QuotaLedger, []quota.Verdict) {
	verdicts := make([]quota.Verdict, len(batch))
	for i, w := range batch {
		ledger, verdicts[i] = quota.Admit(ledger, w.want, now)
	}
	return ledger, verdicts
}

func anyRefused(verdicts []quota.Verdict) bool {
	for _, v := range verdicts {
		if !v.Admitted() {
			return true
		}
	}
	return false
}

// uncounted tells that the ledger says nothing about what the team holds.
func uncounted(ledger *v1alpha1.QuotaLedger) bool { return ledger == nil || ledger.Status.AsOf == nil }
