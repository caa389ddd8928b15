package reconcile

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"
)

// settle has everything that is due done, and time pass.
func settle(d time.Duration) {
	synctest.Wait()
	time.Sleep(d)
	synctest.Wait()
}

func TestRunKeepsTheConfiguration(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, clock.RealClock{})
		c.create(newPod("speech", "a", 2))
		stop := c.run()
		defer stop()
		settle(time.Second)
		first := c.ledger("vision")
		if first == nil || first.Status.AsOf == nil || first.Spec.Limits.Devices.Value() != 8 {
			t.Fatalf("got %v", first)
		}
		c.configure("teams: [{name: vision, limits: {devices: 4}}, {name: audio, limits: {devices: 2}}]")
		c.controller.ConfigChanged()
		settle(time.Second)
		if got := c.ledger("vision"); got.Spec.Limits.Devices.Value() != 4 || got.Spec.ConfigHash != c.config.Load().Hash() {
			t.Errorf("got %v", got.Spec)
		}
		if got := c.ledger("audio"); got == nil || got.Status.Committed[gpu] != 2 {
			t.Errorf("got %v", got)
		}
		c.configure("teams: [{name: audio, limits: {devices: 2}}]")
		c.controller.ConfigChanged()
		settle(time.Second)
		if got := c.ledger("vision"); got != nil {
			t.Errorf("got %v for a team that is no more", got)
		}
	})
}

func TestALedgerWithReservationsIsNotDeleted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, clock.RealClock{})
		stop := c.run()
		defer stop()
		settle(time.Second)
		c.reserve("missing", 1)
		c.configure("teams: []")
		c.controller.ConfigChanged()
		settle(lifetime - time.Second)
		if got := c.ledger("vision"); got == nil || len(got.Status.Reservations) != 1 {
			t.Fatalf("got %v", got)
		}
		settle(2 * period)
		if got := c.ledger("vision"); got != nil {
			t.Errorf("got %v", got.Status)
		}
	})
}

func TestNoConfigurationDeletesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, clock.RealClock{})
		c.count()
		c.config.Store(nil)
		c.create(newPod("train", "a", 1))
		stop := c.run()
		defer stop()
		settle(3 * period)
		if got := c.ledger("vision"); got == nil || got.Status.Committed[gpu] != 1 {
			t.Errorf("got %v", got)
		}
	})
}

func TestRunCountsWhenSomethingHappens(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, clock.RealClock{})
		stop := c.run()
		defer stop()
		settle(time.Second)

		c.create(newPod("train", "poked", 1))
		c.controller.Poke("vision")
		c.controller.Poke("vision")
		c.controller.Poke("nobody")
		settle(pokeDelay)
		if got := c.ledger("vision").Status.Committed[gpu]; got != 1 {
			t.Errorf("%d are committed after a poke", got)
		}

		c.reserve("stored", 2)
		c.create(newPod("train", "stored", 2))
		settle(reservedDelay)
		if got := c.ledger("vision").Status; got.Committed[gpu] != 3 || len(got.Reservations) != 0 {
			t.Errorf("got %v after a reservation", got)
		}

		c.create(newPod("train", "unnoticed", 1))
		settle(period)
		if got := c.ledger("vision").Status.Committed[gpu]; got != 4 {
			t.Errorf("%d are committed after the timer", got)
		}
	})
}

// A reservation that stays is no reason to count all the time.
func TestAnOldReservationWaitsForTheTimer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, clock.RealClock{})
		stop := c.run()
		defer stop()
		settle(time.Second)
		c.reserve("missing", 1)
		c.create(newPod("train", "other", 1)) // The count writes, which is no news to it.
		settle(reservedDelay)
		c.calls()
		settle(2 * period)
		var gets []string
		for _, call := range c.calls() {
			if call == "get quotaledgers" {
				gets = append(gets, call)
			}
		}
		if diff := cmp.Diff([]string{"get quotaledgers", "get quotaledgers"}, gets); diff != "" {
			t.Error(diff)
		}
	})
}
