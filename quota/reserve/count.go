package reserve

import (
	"context"
	"errors"
	"fmt"
	"time"

	"wastenot.dev/api/v1alpha1"
)

// count is one that runs, for all who want one.
type count struct {
	done   chan struct{}
	ledger *v1alpha1.QuotaLedger
	err    error
}

// errPanicked is what those who joined are told when a count never returned.
var errPanicked = errors.New("the count of the pods did not end")

// recount is the last look before a refusal: a count, or where none can be had in time
// the ledger as the API server has it, which then says all that is known.
func (d *Desk) recount(ctx context.Context, team string) (*v1alpha1.QuotaLedger, error) {
	ledger, err := d.count(ctx, team, recountPatience)
	if err == nil {
		return ledger, nil
	}
	return d.store.Get(ctx, team)
}

// count has the team's pods counted, or joins a count that runs already. The count goes
// on when its caller gives up, for those who joined, but no longer than patience.
func (d *Desk) count(ctx context.Context, team string, patience time.Duration) (*v1alpha1.QuotaLedger, error) {
	d.mu.Lock()
	running, joined := d.counts[team]
	if !joined {
		running = &count{done: make(chan struct{}), err: errPanicked}
		d.counts[team] = running
	}
	d.mu.Unlock()
	if joined {
		select {
		case <-running.done:
			return running.ledger, running.err
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for a count of team %s: %w", team, ctx.Err())
		}
	}
	defer func() {
		d.mu.Lock()
		delete(d.counts, team)
		d.mu.Unlock()
		close(running.done)
	}()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	running.ledger, running.err = d.counter.Count(ctx, team)
	return running.ledger, running.err
}
