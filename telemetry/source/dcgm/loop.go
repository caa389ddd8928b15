package dcgm

import (
	"context"
	"sync"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"wastenot.dev/telemetry/sample"
)

// spread is the share of the interval over which the first reads of new targets
// are spread, and by which later ones vary to either side.
const spread = 0.1

// Sink takes what a Runner learns. Its methods are called from many goroutines at
// once and must not block for long: they hold up their own target, and a change
// of targets waits for those that are removed.
type Sink interface {
	// Accept takes one batch.
	Accept(batch sample.Batch)
	// Failed says that a read begun at the given time taught nothing.
	Failed(target Target, err error, at time.Time)
}

// ScrapeFunc reads one target; Scraper.Scrape is one.
type ScrapeFunc func(ctx context.Context, target Target) (sample.Batch, error)

// Runner reads a changing set of targets, each in its own goroutine and at its own
// pace, so that one that hangs delays nobody.
type Runner struct {
	interval time.Duration
	scrape   ScrapeFunc
	sink     Sink
	clock    clock.Clock
	random   func() float64
	changed  chan struct{}

	mu     sync.Mutex
	wanted map[string]Target // by URL
}

// NewRunner makes a Runner that reads every target once per config.Interval.
// random gives numbers in [0, 1) and must be safe for concurrent use, as
// math/rand/v2.Float64 is.
func NewRunner(config Config, scrape ScrapeFunc, sink Sink, clk clock.Clock, random func() float64) *Runner {
	return &Runner{
		interval: config.WithDefaults().Interval,
		scrape:   scrape,
		sink:     sink,
		clock:    clk,
		random:   random,
		changed:  make(chan struct{}, 1),
	}
}

// SetTargets replaces the set of targets. Targets that stay keep their pace, and
// those that are gone stop: once Run has taken notice, which it does at once,
// nothing of theirs reaches the sink. An address that is given twice is read once,
// for the entry that knows its node. It may be called at any time.
func (r *Runner) SetTargets(targets []Target) {
	wanted := make(map[string]Target, len(targets))
	for _, target := range targets {
		if known, twice := wanted[target.URL]; !twice || known.Node == "" {
			wanted[target.URL] = target
		}
	}
	r.mu.Lock()
	r.wanted = wanted
	r.mu.Unlock()
	select {
	case r.changed <- struct{}{}:
	default: // Run has yet to take notice of an earlier change, and will see this one
	}
}

// Run reads targets until ctx ends, and returns when all its goroutines have
// ended. It is called once.
func (r *Runner) Run(ctx context.Context) {
	running := map[string]*follower{}
	defer func() { stop(running) }()
	for {
		r.reconcile(ctx, running)
		select {
		case <-ctx.Done():
			return
		case <-r.changed:
		}
	}
}

// follower is the goroutine of one target.
type follower struct {
	target Target
	cancel context.CancelFunc
	done   chan struct{}
}

func (r *Runner) reconcile(ctx context.Context, running map[string]*follower) {
	r.mu.Lock()
	wanted := r.wanted // replaced as a whole, never changed
	r.mu.Unlock()
	gone := map[string]*follower{}
	for address, f := range running {
		if wanted[address] != f.target {
			gone[address] = f
			delete(running, address)
		}
	}
	stop(gone)
	for address, target := range wanted {
		if running[address] == nil {
			running[address] = r.start(ctx, target)
		}
	}
	if len(gone) > 0 {
		klog.FromContext(ctx).V(2).Info("Targets stopped", "stopped", len(gone), "running", len(running))
	}
}

func stop(followers map[string]*follower) {
	for _, f := range followers {
		f.cancel()
	}
	for _, f := range followers {
		<-f.done
	}
}

func (r *Runner) start(ctx context.Context, target Target) *follower {
	ctx, cancel := context.WithCancel(ctx)
	f := &follower{target: target, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(f.done)
		r.follow(ctx, target)
	}()
	return f
}

func (r *Runner) follow(ctx context.Context, target Target) {
	timer := r.clock.NewTimer(r.part(spread * r.random()))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C():
		}
		begun := r.clock.Now()
		r.once(ctx, target, begun)
		pace := r.part(1 - spread + 2*spread*r.random())
		timer.Reset(max(0, pace-r.clock.Since(begun)))
	}
}

func (r *Runner) part(of float64) time.Duration {
	return time.Duration(of * float64(r.interval))
}

func (r *Runner) once(ctx context.Context, target Target, begun time.Time) {
	batch, err := r.scrape(ctx, target)
	switch {
	case ctx.Err() != nil: // removed or shutting down: neither news nor a failure
	case err != nil:
		klog.FromContext(ctx).V(5).Info("Reading a target taught nothing", "node", target.Node, "err", err)
		r.sink.Failed(target, err, begun)
	default:
		r.sink.Accept(batch)
	}
}
