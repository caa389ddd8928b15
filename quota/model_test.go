package quota

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"wastenot.dev/api/v1alpha1"
)

var thorough = flag.Bool("thorough", false, "explore the interleavings of larger models, which takes minutes")

// The model explores every interleaving of requests, counts and pods with the shipped
// Admit and Reconcile: pods ask for one device each, webhooks read the ledger and swap,
// the API server stores an admitted pod or drops it at any time, stored pods end, and
// any number of counts run at once. It looks for a state in which more pods are stored
// or about to be than the limit allows.

// most is the most requests and counters of a model; states are arrays, so that they
// are keys.
const most = 4

type phase uint8

// What a request is at.
const (
	idle phase = iota
	read
	allowed
	created
	denied
	dropped
)

// life is what etcd, or an informer, knows of a pod.
type life uint8

const (
	absent life = iota
	live
	ended
)

// book is a ledger in short, with the version that a swap compares.
type book struct {
	version, committed, counts int8
	reserved                   [most]bool
}

type request struct {
	at  phase
	has book
}

// counter is a count that runs: how many of its steps are done, and what they gave.
type counter struct {
	step    int8
	has     book
	listed  [most]life
	expired [most]bool
}

type state struct {
	requests [most]request
	pods     [most]life
	ledger   book
	counters [most]counter
	informer [most][most]life // of each counter
}

// The steps of a count.
const (
	readsLedger   = "reads the ledger"
	lists         = "lists the pods"
	asksInformer  = "asks its informer"
	judges        = "judges expiry"
	judgesTooSoon = "judges expiry before requests can be over"
	swaps         = "swaps"
)

// shipped is the order that quota/reconcile has.
var shipped = []string{readsLedger, judges, lists, swaps}

type model struct {
	requests, counters int
	limit              int64
	order              []string
	// careless puts a list over any ledger, not only over one that grew.
	careless bool
}

// next calls visit with every state that can follow.
func (m *model) next(s state, visit func(step string, next state)) {
	for i := range m.requests {
		m.request(s, i, visit)
		if s.pods[i] == live {
			next := s
			next.pods[i] = ended
			visit(fmt.Sprintf("pod %d ends", i), next)
		}
	}
	for k := range m.counters {
		m.count(s, k, visit)
		for i := range m.requests {
			if slices.Contains(m.order, asksInformer) && s.informer[k][i] != s.pods[i] {
				next := s
				next.informer[k][i] = s.pods[i]
				visit(fmt.Sprintf("informer %d hears of pod %d", k, i), next)
			}
		}
	}
}

func (m *model) request(s state, i int, visit func(string, state)) {
	r := s.requests[i]
	move := func(step string, to phase, change func(next *state)) {
		next := s
		next.requests[i] = request{at: to}
		if change != nil {
			change(&next)
		}
		visit(fmt.Sprintf("request %d %s", i, step), next)
	}
	switch r.at {
	case idle:
		move("reads the ledger", read, func(next *state) { next.requests[i].has = s.ledger })
	case read:
		admitted, verdict := Admit(m.open(r.has), Want{UID: uid(i), Demand: one}, noon)
		switch {
		case !verdict.Admitted():
			move("is denied", denied, nil)
		case s.ledger.version != r.has.version:
			move("meets a conflict", idle, nil)
		default:
			move("swaps and is allowed", allowed, func(next *state) { next.ledger = shut(admitted, r.has.version+1) })
		}
	case allowed:
		move("is stored", created, func(next *state) { next.pods[i] = live })
		move("is dropped", dropped, nil)
	}
}

func (m *model) count(s state, k int, visit func(string, state)) {
	c := s.counters[k]
	if int(s.ledger.version) > 2*m.requests+2 {
		return // Counts could go on for ever.
	}
	next, step := s, m.order[c.step]
	at := &next.counters[k]
	at.step++
	switch step {
	case readsLedger:
		at.has = s.ledger
	case lists:
		at.listed = s.pods
	case asksInformer:
		at.listed = s.informer[k]
	case judges:
		for i := range m.requests {
			over := s.requests[i].at == created || s.requests[i].at == dropped
			at.expired[i] = over && (c.has.reserved[i] || m.order[0] != readsLedger)
		}
	case judgesTooSoon:
		for i := range m.requests {
			at.expired[i] = true
		}
	case swaps:
		switch {
		case c.has.version == s.ledger.version:
			counted := shut(m.reconcile(c), s.ledger.version)
			same := counted
			if same.counts = s.ledger.counts; same != s.ledger {
				counted.version++
				next.ledger = counted
			}
			next.counters[k] = counter{}
		case m.careless || OnlyGrew(m.open(c.has), m.open(s.ledger)):
			at.step = c.step
			at.has = s.ledger
			step = "reads the ledger again"
		default:
			next.counters[k] = counter{}
		}
	}
	visit(fmt.Sprintf("count %d %s", k, step), next)
}

func (m *model) reconcile(c counter) *v1alpha1.QuotaLedger {
	var held []Held
	for i, pod := range c.listed {
		switch pod {
		case live:
			held = append(held, Held{UID: uid(i), Demand: one})
		case ended:
			held = append(held, Held{UID: uid(i)})
		}
	}
	return Reconcile(m.open(c.has), held, func(id types.UID) bool { return c.expired[slices.Index(uids, id)] }, noon)
}

var (
	one  = map[string]int64{"nvidia.com/gpu": 1}
	uids = []types.UID{"0", "1", "2", "3"}
)

func uid(i int) types.UID { return uids[i] }

// open is the book as a ledger, shut the ledger as a book.
func (m *model) open(b book) *v1alpha1.QuotaLedger {
	ledger := &v1alpha1.QuotaLedger{}
	ledger.Spec.Limits.Devices = resource.NewQuantity(m.limit, resource.DecimalSI)
	ledger.Status.Committed = map[string]int64{"nvidia.com/gpu": int64(b.committed)}
	ledger.Status.Counts = int64(b.counts)
	for i, reserved := range b.reserved {
		if reserved {
			ledger.Status.Reservations = append(ledger.Status.Reservations, v1alpha1.QuotaReservation{UID: uid(i), Demand: one})
		}
	}
	return ledger
}

func shut(ledger *v1alpha1.QuotaLedger, version int8) book {
	b := book{version: version, committed: int8(ledger.Status.Committed["nvidia.com/gpu"]), counts: int8(ledger.Status.Counts)}
	for _, r := range ledger.Status.Reservations {
		b.reserved[slices.Index(uids, r.UID)] = true
	}
	return b
}

func (m *model) broken(s state) bool {
	var devices int64
	for i := range m.requests {
		if s.pods[i] == live || s.requests[i].at == allowed {
			devices++
		}
	}
	return devices > m.limit
}

// explore returns the number of states, and the shortest way to one that is broken.
func (m *model) explore() (int, []string) {
	type origin struct {
		from state
		step string
	}
	var start state
	seen := map[state]origin{start: {}}
	for queue := []state{start}; len(queue) > 0; queue = queue[1:] {
		s := queue[0]
		if m.broken(s) {
			var way []string
			for s != start {
				way = append(way, seen[s].step)
				s = seen[s].from
			}
			slices.Reverse(way)
			return len(seen), way
		}
		m.next(s, func(step string, next state) {
			if _, ok := seen[next]; !ok {
				seen[next] = origin{s, step}
				queue = append(queue, next)
			}
		})
	}
	return len(seen), nil
}

func TestNoInterleavingBreaksTheLimit(t *testing.T) {
	t.Parallel()
	models := []model{
		{requests: 2, counters: 1, limit: 1, order: shipped},
		{requests: 2, counters: 2, limit: 1, order: shipped},
		{requests: 3, counters: 1, limit: 1, order: shipped},
	}
	if *thorough {
		models = append(models, model{requests: 3, counters: 1, limit: 2, order: shipped}, model{requests: 3, counters: 2, limit: 1, order: shipped})
	}
	for _, m := range models {
		t.Run(fmt.Sprintf("%d requests %d counts limit %d", m.requests, m.counters, m.limit), func(t *testing.T) {
			t.Parallel()
			states, way := m.explore()
			if way != nil {
				t.Errorf("the limit is broken:\n%s", strings.Join(way, "\n"))
			}
			t.Logf("%d states", states)
		})
	}
}

// Each rule of Reconcile is there because without it the model breaks.
func TestEveryRuleOfReconcileIsNeeded(t *testing.T) {
	t.Parallel()
	models := map[string]model{
		"listing before reading the ledger": {requests: 2, counters: 2, limit: 1, order: []string{judges, lists, readsLedger, swaps}},
		"counting from an informer":         {requests: 2, counters: 2, limit: 1, order: []string{readsLedger, judges, asksInformer, swaps}},
		"expiry before requests are over":   {requests: 2, counters: 1, limit: 1, order: []string{readsLedger, judgesTooSoon, lists, swaps}},
		"a list over another's count":       {requests: 2, counters: 2, limit: 1, order: shipped, careless: true},
		"judging expiry after listing":      {requests: 2, counters: 1, limit: 1, order: []string{readsLedger, lists, judges, swaps}},
	}
	for name, m := range models {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			states, way := m.explore()
			if way == nil {
				t.Errorf("nothing breaks in %d states", states)
			}
			t.Logf("%d states:\n%s", states, strings.Join(way, "\n"))
		})
	}
}
