package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"

	"wastenot.dev/internal/fleet"
	"wastenot.dev/telemetry/health"
	"wastenot.dev/telemetry/idle"
	"wastenot.dev/telemetry/sample"
)

// ErrNotANode says that readings name a node that is not in the cluster, such as the
// pod of an exporter that was not told its node.
var ErrNotANode = errors.New("it is no node of the cluster")

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

	mu    sync.Mutex
	nodes map[string]*node
	// devices holds every device that has a UUID.
	devices map[string]*device
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
	s := &Store{options: options, nodes: map[string]*node{}, devices: map[string]*device{}, changed: make(chan struct{})}
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

// Accept takes one batch. The error says what of it was not believed: everything
// when its node is not in the cluster (ErrNotANode), and devices that another node
// is known to have.
func (s *Store) Accept(batch sample.Batch) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.nodes[batch.Node]
	if n == nil || !n.placed {
		return fmt.Errorf("readings of %q are of no use: %w", batch.Node, ErrNotANode)
	}
	touched := []string{n.name}
	var errs []error
	for i := range batch.Devices {
		in := &batch.Devices[i]
		d, from, err := s.claim(n, in, batch.ObservedAt)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if from != "" {
			touched = append(touched, from)
		}
		d.observe(&batch, in, s.options.IdleWindow)
	}
	s.publish(touched...)
	return errors.Join(errs...)
}

// Place says that Kubernetes has the node, and what it knows of it.
func (s *Store) Place(name, group string, labels map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.node(name)
	n.placed, n.group, n.labels = true, group, maps.Clone(labels)
	s.publish(name)
}

// Remove forgets a node that left the cluster, with its devices. What Failed is only
// put aside: it is not forgiven when it comes back, there or elsewhere.
func (s *Store) Remove(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.nodes[name]
	if n == nil {
		return
	}
	n.placed, n.group, n.labels = false, "", nil
	for _, d := range n.devices {
		if !d.failed(s.options.Clock.Now()) {
			s.drop(d)
		}
	}
	s.publish(name)
}

// Seed restores what a durable record holds against a device, so that a new process
// does not forgive what an old one saw.
func (s *Store) Seed(nodeName, uuid, model string, findings []health.Finding, vendorExcludes bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.devices[uuid]
	if d == nil {
		d = s.newDevice(uuid, "")
		s.node(nodeName).take(d)
	}
	d.model = model
	for _, finding := range findings {
		d.health.Seed(finding, vendorExcludes)
	}
	s.publish(nodeName)
}

// Dismiss forgets a device and what counts against it. Readings bring it back.
func (s *Store) Dismiss(uuid string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.devices[uuid]
	if d == nil {
		return
	}
	s.drop(d)
	s.publish(d.home.name)
}

// SetMix publishes what pods ask for lately. The mix must not change any more. One that
// was published stays until another is: nil changes nothing.
func (s *Store) SetMix(mix *fleet.Mix) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.snapshot.Load()
	if mix != nil && !mix.Equal(old.Mix) {
		s.replace(old.Nodes, mix)
	}
}

// EachReading calls back with each published device's last reading, however recent.
func (s *Store) EachReading(call func(node, uuid, index string, observedAt time.Time)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.nodes {
		if !n.placed {
			continue
		}
		for _, d := range n.devices {
			if !d.observedAt.IsZero() {
				call(n.name, d.uuid, d.index, d.observedAt)
			}
		}
	}
}

// Tick judges everything again by the clock: readings age, windows fill.
func (s *Store) Tick() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.options.Clock.Now()
	for name, n := range s.nodes {
		for _, d := range n.devices {
			if d.forgettable(now, s.options.Forget) {
				s.drop(d)
			}
		}
		if !n.placed && len(n.devices) == 0 {
			delete(s.nodes, name)
		}
	}
	s.publish(slices.Collect(maps.Keys(s.nodes))...)
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
		n = &node{name: name, devices: map[deviceKey]*device{}}
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
		before, after := old.Nodes[name], s.nodes[name].build(now)
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
	if nodes != nil {
		s.replace(nodes, old.Mix)
	}
}

// replace makes a new snapshot and tells whoever waits.
func (s *Store) replace(nodes map[string]*fleet.Node, mix *fleet.Mix) {
	generation := s.snapshot.Load().Generation + 1
	s.snapshot.Store(&fleet.Snapshot{Epoch: s.options.Epoch, Generation: generation, Nodes: nodes, Mix: mix})
	close(s.changed)
	s.changed = make(chan struct{})
}
