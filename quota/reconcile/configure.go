package reconcile

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/quota"
)

// tries bounds how often one change is made again after a conflict.
const tries = 5

// configureAll brings every ledger's limits in line, and removes those of teams that the
// configuration no longer has.
func (c *Controller) configureAll(ctx context.Context) {
	c.mu.Lock()
	configured := c.configured
	c.configured = true
	c.mu.Unlock()
	cfg := c.config()
	if configured || cfg == nil {
		return
	}
	var errs []error
	for _, team := range cfg.Teams() {
		if _, err := c.configure(ctx, cfg, team.Name); err != nil {
			errs = append(errs, err)
		}
	}
	for _, team := range c.ledgers.Teams() {
		if _, ok := cfg.Team(team); ok {
			continue
		}
		if err := c.retire(ctx, team); err != nil {
			errs = append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil && ctx.Err() == nil {
		klog.FromContext(ctx).Error(err, "Configuring ledgers; trying again with the next count of all", "within", period)
	}
}

// configure creates the team's ledger or brings its limits in line.
func (c *Controller) configure(ctx context.Context, cfg *quota.Config, team string) (*v1alpha1.QuotaLedger, error) {
	ledger := c.ledgers.Latest(team)
	var failed error
	for range tries {
		next, changed := quota.Configure(ledger, cfg, team)
		if !changed {
			return ledger, nil
		}
		written, err := c.put(ctx, ledger == nil, next)
		if err == nil {
			klog.FromContext(ctx).V(2).Info("Configured a ledger", "team", team, "config", cfg.Hash(), "created", ledger == nil)
			c.schedule(team, 0)
			return written, nil
		}
		if failed = err; !retryable(err) {
			break
		}
		if ledger, err = c.ledgers.Get(ctx, team); err != nil && !apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("configuring team %s: %w", team, err)
		}
	}
	return nil, fmt.Errorf("configuring team %s: %w", team, failed)
}

func (c *Controller) put(ctx context.Context, create bool, ledger *v1alpha1.QuotaLedger) (*v1alpha1.QuotaLedger, error) {
	if create {
		return c.ledgers.Create(ctx, ledger)
	}
	return c.ledgers.Update(ctx, ledger)
}

// retire removes the ledger of a team that is no more, once nothing is reserved in it:
// should the team come back at once, a pod that is being created must not be forgotten.
func (c *Controller) retire(ctx context.Context, team string) error {
	ledger := c.ledgers.Latest(team)
	if ledger == nil {
		return nil
	}
	if len(ledger.Status.Reservations) > 0 {
		var err error
		if ledger, err = c.Count(ctx, team); errors.Is(err, quota.ErrNoTeam) {
			return nil
		} else if err != nil {
			return err
		}
	}
	if len(ledger.Status.Reservations) > 0 {
		return nil // The next round sees whether they are over.
	}
	if err := c.ledgers.Delete(ctx, ledger); err != nil && !apierrors.IsConflict(err) {
		return err
	}
	klog.FromContext(ctx).V(2).Info("Removed the ledger of a team that is no longer configured", "team", team)
	return nil
}

// retryable tells whether the ledger was not as expected, so that reading it again helps.
func retryable(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err)
}
