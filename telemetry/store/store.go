package store

import (
	"context"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"

	"wastenot.dev/internal/fleet"
	"wastenot.dev/telemetry/health"
	"wastenot.dev/telemetry/idle"
	"wastenot.dev/telemetry/sample"
)

// Options configure a Store.
type Options struct {
	// Epoch identifies this life of the store; it must differ from every other life's.
	Epoch string
	// Policy grades readings.
	Policy *health.Policy
	// IdleWindow is how long quiet must last to count as idle.
	IdleWindow time.Duration
	// Forget is how long a device that no source reports is remembered, unless
	// something counts against it.
	Forget time.Duration
	Clock  clock.WithTicker
}

// Store keeps the fleet. Its methods are safe for concurrent use.
type Store struct {
	options Options

	mu      sync.Mutex
	nodes   map[string]*node
	changed chan struct{}

	snapshot atomic.Pointer[fleet.Snapshot]
}

// New returns a store that knows nothing.
func New(options Options) *Store {
	if options.IdleWindow == 0 {
		options.IdleWindow = idle.DefaultWindow
	}
	if options.Forget == 0 {
		options.Forget = time.Hour
	}
	s := &Store{options: options, nodes: map[string]*node{}, changed: make(chan struct{})}
	s.snapshot.Store(&fleet.Snapshot{Epoch: options.Epoch, Nodes: map[string]*fleet.Node{}})
	return s
}

// Snapshot returns the current snapshot.
func (s *Store) Snapshot() *fleet.Snapshot { return s.snapshot.Load() }

// Changed returns a channel that is closed at the next change. Take it before
// reading Snapshot, or a change in between is missed.
func (s *Store) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

// Accept takes one batch. Readings of a node that is not named are of no use to a
// scheduler and are dropped.
func (s *Store) Accept(batch sample.Batch) {
	if batch.Node == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.node(batch.Node)
	for i := range batch.Devices {
		n.observe(&batch, &batch.Devices[i], s.options)
	}
	s.publish(batch.Node)
}

// Place says what Kubernetes knows of the node.
func (s *Store) Place(name, group string, labels map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.node(name)
	n.group, n.labels = group, maps.Clone(labels)
	s.publish(name)
}

// Remove forgets a node that left the cluster, with its devices.
func (s *Store) Remove(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.nodes, name)
	s.publish(name)
}

// Seed restores what a durable record holds against a device, so that a new process
// does not forgive what an old one saw.
func (s *Store) Seed(nodeName, uuid, model string, findings []health.Finding, vendorExcludes bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.node(nodeName).device(uuid, "", s.options)
	d.model = model
	for _, finding := range findings {
		d.health.Seed(finding, vendorExcludes)
	}
	s.publish(nodeName)
}

// Tick judges everything again by the clock: readings age, windows fill.
func (s *Store) Tick() {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := make([]string, 0, len(s.nodes))
	for name, n := range s.nodes {
		n.forget(s.options.Clock.Now(), s.options.Forget)
		names = append(names, name)
	}
	s.publish(names...)
}

// Run ticks until ctx ends.
func (s *Store) Run(ctx context.Context, interval time.Duration) {
	ticker := s.options.Clock.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
			s.Tick()
		}
	}
}

func (s *Store) node(name string) *node {
	n := s.nodes[name]
	if n == nil {
		n = &node{name: name, devices: map[string]*device{}}
		s.nodes[name] = n
	}
	return n
}

// publish builds the named nodes anew and, when any differs, a new snapshot.
func (s *Store) publish(names ...string) {
	now := s.options.Clock.Now()
	old := s.snapshot.Load()
	var nodes map[string]*fleet.Node
	for _, name := range names {
		before := old.Nodes[name]
		var after *fleet.Node
		if n := s.nodes[name]; n != nil {
			after = n.build(now)
		}
		if sameNode(before, after) {
			continue
		}
		if nodes == nil {
			nodes = maps.Clone(old.Nodes)
		}
		if after == nil {
			delete(nodes, name)
		} else {
			nodes[name] = after
		}
	}
	if nodes == nil {
		return
	}
	s.snapshot.Store(&fleet.Snapshot{Epoch: s.options.Epoch, Generation: old.Generation + 1, Nodes: nodes})
	close(s.changed)
	s.changed = make(chan struct{})
}
