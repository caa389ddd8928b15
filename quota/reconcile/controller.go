package reconcile

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/internal/accelerator"
	"wastenot.dev/quota"
	"wastenot.dev/quota/store"
)

const (
	// period is how often every team is counted.
	period = 15 * time.Second
	// pokeDelay is how long pokes are gathered.
	pokeDelay = 500 * time.Millisecond
	// reservedDelay is how long after a new reservation its team is counted: by then
	// its pod is stored.
	reservedDelay = 2 * time.Second
	// retryDelay is how long the next try waits after one that failed.
	retryDelay = 5 * time.Second
	// patience bounds one count, and one round of configuring.
	patience = 30 * time.Second
	// counters is how many teams are counted at once.
	counters = 4
)

// Controller keeps ledgers. Make one with New.
type Controller struct {
	client  kubernetes.Interface
	ledgers *store.Store
	config  func() *quota.Config
	objects accelerator.Objects
	clock   clock.WithTicker
	// served are the schedulers that hold pods of teams that queue.
	served []string

	// wake says that something is due earlier than it was.
	wake chan struct{}

	mu sync.Mutex
	// configured tells that the ledgers' limits are as the configuration has them.
	configured bool
	// due is when each team is counted next, besides the timer.
	due       map[string]time.Time
	sightings sightings
	// stored is when each pod was last heard of.
	stored map[types.UID]time.Time
}

// New returns a controller over the ledgers, and has them tell it of new reservations;
// so it must be called before the store runs. config returns the configuration in force,
// or nil before one was read. objects finds what pods' claims refer to.
func New(client kubernetes.Interface, ledgers *store.Store, config func() *quota.Config, objects accelerator.Objects, clk clock.WithTicker) *Controller {
	c := &Controller{
		client: client, ledgers: ledgers, config: config, objects: objects, clock: clk,
		wake: make(chan struct{}, 1), due: map[string]time.Time{}, sightings: sightings{},
		stored: map[types.UID]time.Time{}, served: []string{v1alpha1.SchedulerName},
	}
	ledgers.OnChange(c.ledgerChanged)
	return c
}

// Serve names the schedulers that hold pods of teams that queue, by default
// wastenot-scheduler: such a pod of another scheduler has its place from its admission. It
// must be called before Run.
func (c *Controller) Serve(schedulers []string) { c.served = schedulers }

// Poke has the team counted soon: one of its pods came, ended or went. It never blocks,
// and on a replica that does not lead it is remembered.
func (c *Controller) Poke(team string) { c.schedule(team, pokeDelay) }

// ConfigChanged has the ledgers brought in line with the configuration. It never blocks.
func (c *Controller) ConfigChanged() {
	c.mu.Lock()
	c.configured = false
	c.mu.Unlock()
	c.signal()
}

// Run keeps the ledgers until ctx ends, and waits for what it started.
func (c *Controller) Run(ctx context.Context) error {
	ctx = klog.NewContext(ctx, klog.FromContext(ctx).WithName("quota"))
	ticker := c.clock.NewTicker(period)
	defer ticker.Stop()
	c.scheduleAll()
	for {
		c.work(ctx)
		timer := c.clock.NewTimer(c.untilDue())
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-ticker.C():
			c.scheduleAll()
		case <-c.wake:
		case <-timer.C():
		}
		timer.Stop()
	}
}

// work does what is due.
func (c *Controller) work(ctx context.Context) {
	configuring, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	c.configureAll(configuring)
	var group errgroup.Group
	group.SetLimit(counters)
	for _, team := range c.takeDue() {
		group.Go(func() error {
			c.countDue(ctx, team)
			return nil
		})
	}
	_ = group.Wait() // None of them returns an error.
}

func (c *Controller) countDue(ctx context.Context, team string) {
	counting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_, err := c.Count(counting, team)
	if err == nil || errors.Is(err, quota.ErrNoTeam) || ctx.Err() != nil {
		return // There is nothing to count for a team that is no more.
	}
	klog.FromContext(ctx).Error(err, "Counting what a team holds; trying again", "team", team, "delay", retryDelay)
	c.schedule(team, retryDelay)
}

// ledgerChanged hears of every change of a ledger. New reservations get a count soon.
func (c *Controller) ledgerChanged(team string) {
	ledger := c.ledgers.Latest(team)
	if ledger == nil {
		c.mu.Lock()
		delete(c.sightings, team)
		c.mu.Unlock()
		return
	}
	if c.see(ledger) {
		c.schedule(team, reservedDelay)
	}
}

// schedule has the team counted after the delay, or earlier if it was due earlier.
func (c *Controller) schedule(team string, delay time.Duration) {
	at := c.clock.Now().Add(delay)
	c.mu.Lock()
	if already, ok := c.due[team]; ok && !at.Before(already) {
		c.mu.Unlock()
		return
	}
	c.due[team] = at
	c.mu.Unlock()
	c.signal()
}

// scheduleAll has every configured team counted now; configureAll sees to the others.
func (c *Controller) scheduleAll() {
	c.forget()
	c.ConfigChanged()
	for _, team := range c.config().Teams() {
		c.schedule(team.Name, 0)
	}
}

func (c *Controller) signal() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// takeDue returns the teams that are due, which then no longer are.
func (c *Controller) takeDue() []string {
	now := c.clock.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	var teams []string
	for team, at := range c.due {
		if !at.After(now) {
			teams = append(teams, team)
			delete(c.due, team)
		}
	}
	return teams
}

// untilDue is how long nothing is due.
func (c *Controller) untilDue() time.Duration {
	now, wait := c.clock.Now(), period
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, at := range c.due {
		wait = min(wait, at.Sub(now))
	}
	return max(wait, 0)
}
