package quota

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"wastenot.dev/api/v1alpha1"
)

// twin is the ledger as one would write it down: who holds what, and two sums.
type twin struct {
	devices int64 // in sevenths; -1 for no limit
	classes map[string]int64
	held    map[types.UID]map[string]int64
	pending map[types.UID]map[string]int64
}

// sevenths is what a unit of the twin's classes is, near enough: limits are whole.
var sevenths = map[string]int64{"nvidia.com/gpu": 7, "nvidia.com/mig-1g.5gb": 1, "aws.amazon.com/neuron": 7}

// total is what pods hold of a class, or in sevenths of a device for "".
func total(class string, pods ...map[types.UID]map[string]int64) int64 {
	var sum int64
	for _, some := range pods {
		for _, demand := range some {
			for c, n := range demand {
				switch class {
				case "":
					sum += n * sevenths[c]
				case c:
					sum += n
				}
			}
		}
	}
	return sum
}

func (w *twin) fits(pods map[types.UID]map[string]int64, demand map[string]int64) bool {
	want := map[types.UID]map[string]int64{"": demand}
	if w.devices >= 0 && total("", w.held, pods, want) > w.devices && total("", want) > 0 {
		return false
	}
	for class, n := range demand {
		limit, listed := w.classes[class]
		if n > 0 && (listed || w.devices < 0) && total(class, w.held, pods, want) > limit {
			return false
		}
	}
	return true
}

func (w *twin) admit(uid types.UID, demand map[string]int64) Outcome {
	switch {
	case w.pending[uid] != nil:
		return Known
	case w.fits(w.pending, demand):
		w.pending[uid] = demand
		return Fits
	case w.fits(nil, demand):
		return Busy
	default:
		return Over
	}
}

// TestLedgerAgreesWithItsTwin plays random lives of teams on both.
func TestLedgerAgreesWithItsTwin(t *testing.T) {
	t.Parallel()
	seen := map[Outcome]int{}
	for seed := range uint64(150) {
		random := rand.New(rand.NewPCG(seed, 1))
		w, ledger := newTwins(t, random)
		for step := range 60 {
			before := ledger.DeepCopy()
			next := ledger
			if random.IntN(4) > 0 {
				uid := types.UID(fmt.Sprint("pod-", random.IntN(step+1)))
				if w.held[uid] != nil {
					continue // No two pods have the same one.
				}
				demand := demandOf(w, uid, random)
				var verdict Verdict
				next, verdict = Admit(ledger, Want{UID: uid, Demand: demand}, noon)
				if checked := Check(ledger, Want{UID: uid, Demand: demand}); !reflect.DeepEqual(checked, verdict) {
					t.Fatalf("seed %d step %d: Check says %v, Admit %v", seed, step, checked, verdict)
				}
				if want := w.admit(uid, demand); verdict.Outcome != want {
					t.Fatalf("seed %d step %d: %s of %v: got %s, want %s", seed, step, uid, demand, verdict.Outcome, want)
				}
				seen[verdict.Outcome]++
			} else {
				next = countBoth(w, ledger, random)
			}
			same(t, before, ledger)
			ledger = next
			agree(t, w, ledger)
		}
	}
	for _, outcome := range []Outcome{Over, Busy, Fits, Known} {
		if seen[outcome] < 50 {
			t.Errorf("%s was seen %d times only", outcome, seen[outcome])
		}
	}
}

func newTwins(t *testing.T, random *rand.Rand) (*twin, *v1alpha1.QuotaLedger) {
	t.Helper()
	w := &twin{devices: -1, classes: map[string]int64{}, held: map[types.UID]map[string]int64{}, pending: map[types.UID]map[string]int64{}}
	limits := []string{}
	if random.IntN(3) > 0 {
		n := random.Int64N(9)
		w.devices, limits = n*7, append(limits, fmt.Sprint("devices=", n))
	}
	for _, class := range []string{"nvidia.com/gpu", "nvidia.com/mig-1g.5gb", "aws.amazon.com/neuron"} {
		if random.IntN(2) > 0 || (w.devices < 0 && class == "nvidia.com/gpu") {
			w.classes[class] = random.Int64N(6)
			limits = append(limits, fmt.Sprintf("%s=%d", class, w.classes[class]))
		}
	}
	cfg, err := Parse(configOf(limits))
	if err != nil {
		t.Fatal(err)
	}
	ledger, _ := Configure(nil, cfg, "vision")
	return w, Reconcile(ledger, nil, nil, noon)
}

// demandOf is what a new pod asks for, and what a known one asked for.
func demandOf(w *twin, uid types.UID, random *rand.Rand) map[string]int64 {
	if known := w.pending[uid]; known != nil {
		return known
	}
	demand := map[string]int64{}
	for class := range sevenths {
		if random.IntN(2) > 0 {
			demand[class] = 1 + random.Int64N(3)
		}
	}
	if len(demand) == 0 {
		demand["nvidia.com/gpu"] = 1
	}
	return demand
}

// countBoth has pods stored, ended and expired, and then counts.
func countBoth(w *twin, ledger *v1alpha1.QuotaLedger, random *rand.Rand) *v1alpha1.QuotaLedger {
	var held []Held
	for uid := range w.held {
		if random.IntN(3) == 0 {
			delete(w.held, uid)
		}
	}
	var over []types.UID
	for uid, demand := range w.pending {
		switch random.IntN(3) {
		case 0:
			w.held[uid] = demand
			delete(w.pending, uid)
		case 1:
			over = append(over, uid)
			delete(w.pending, uid)
		}
	}
	for uid, demand := range w.held {
		held = append(held, Held{UID: uid, Demand: demand})
	}
	return Reconcile(ledger, held, func(uid types.UID) bool { return slices.Contains(over, uid) }, noon)
}

func agree(t *testing.T, w *twin, ledger *v1alpha1.QuotaLedger) {
	t.Helper()
	used := Used(ledger)
	for class := range sevenths {
		if want := total(class, w.held, w.pending); used[class] != want {
			t.Fatalf("%d of %s are used, want %d", used[class], class, want)
		}
	}
	if micros, _ := microsOf(*ledger.Status.Devices); micros != Devices(used, nil) {
		t.Fatalf("status.devices says %d, want %d", micros, Devices(used, nil))
	}
	if len(ledger.Status.Reservations) != len(w.pending) {
		t.Fatalf("there are %d reservations, want %d", len(ledger.Status.Reservations), len(w.pending))
	}
}

// same fails when what was given was changed.
func same(t *testing.T, want, got *v1alpha1.QuotaLedger) {
	t.Helper()
	if !equality.Semantic.DeepEqual(want, got) {
		t.Fatalf("the ledger was changed in place:\n%v\n%v", want, got)
	}
}

// Ledgers share what they have in common; two that come from one must not meet.
func TestLedgersFromOneLedgerDiffer(t *testing.T) {
	t.Parallel()
	ledger, _ := Configure(nil, parsed(t, "teams: [{name: a, limits: {devices: 100}}]"), "a")
	want := func(name string, devices int64) Want {
		return Want{UID: types.UID(name), Demand: map[string]int64{"nvidia.com/gpu": devices}}
	}
	for i := range 5 { // Grown, as append grows, with room to spare.
		ledger, _ = Admit(ledger, want(fmt.Sprint(i), 1), noon)
		ledger.Status.Reservations = append(make([]v1alpha1.QuotaReservation, 0, 16), ledger.Status.Reservations...)
	}
	before := ledger.DeepCopy()
	one, _ := Admit(ledger, want("one", 1), noon)
	other, _ := Admit(ledger, want("other", 1), noon)
	grown, _ := Admit(ledger, want("0", 5), noon)
	same(t, before, ledger)
	if last := one.Status.Reservations[5].UID; last != "one" {
		t.Errorf("the first ledger holds %s, want one", last)
	}
	if last := other.Status.Reservations[5].UID; last != "other" {
		t.Errorf("the second ledger holds %s, want other", last)
	}
	if got := grown.Status.Reservations[0].Demand["nvidia.com/gpu"]; got != 5 || len(grown.Status.Reservations) != 5 {
		t.Errorf("the third ledger holds %d, want 5", got)
	}
}

func TestLedgerStaysSmall(t *testing.T) {
	t.Parallel()
	cfg := parsed(t, "teams: [{name: a, limits: {devices: 1000000}}]")
	ledger, _ := Configure(nil, cfg, "a")
	want := Want{Demand: map[string]int64{"nvidia.com/gpu": 1}}
	for i := range MaxReservations {
		want.UID = types.UID(fmt.Sprint(i))
		var verdict Verdict
		if ledger, verdict = Admit(ledger, want, noon); verdict.Outcome != Fits {
			t.Fatalf("pod %d: %v", i, verdict)
		}
	}
	if _, verdict := Admit(ledger, want, noon); verdict.Outcome != Known {
		t.Errorf("a known pod is %s", verdict.Outcome)
	}
	want.UID = "one-more"
	next, verdict := Admit(ledger, want, noon)
	if verdict.Outcome != Busy || next != ledger || verdict.String() == "" {
		t.Errorf("got %s %q, want Busy", verdict.Outcome, verdict)
	}
}
