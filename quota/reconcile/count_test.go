package reconcile

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/quota"
	"wastenot.dev/quota/store"
)

// The order is what makes a count safe: quota/model_test.go breaks every other.
func TestACountReadsThenListsThenSwaps(t *testing.T) {
	t.Parallel()
	c := newCluster(t, clocktesting.NewFakeClock(noon))
	c.count()
	want := []string{
		"get quotaledgers", "create quotaledgers",
		`list namespaces version="" limit=500`, `list pods version="" limit=500`, `list pods version="" limit=500`,
		"update quotaledgers",
	}
	if diff := cmp.Diff(want, c.calls()); diff != "" {
		t.Error(diff)
	}
	c.create(newPod("train", "a", 1))
	c.calls()
	c.count()
	want = append([]string{"get quotaledgers"}, want[2:]...)
	if diff := cmp.Diff(want, c.calls()); diff != "" {
		t.Error(diff)
	}
}

func TestWhatCounts(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		policy string
		pods   []*corev1.Pod
		want   int64
	}{
		"nothing":             {"Reject", nil, 0},
		"every namespace":     {"Reject", []*corev1.Pod{newPod("train", "a", 1), newPod("serve", "b", 2)}, 3},
		"another's namespace": {"Reject", []*corev1.Pod{newPod("speech", "a", 1)}, 0},
		"no accelerators":     {"Reject", []*corev1.Pod{newPod("train", "a", 0)}, 0},
		"pending":             {"Reject", []*corev1.Pod{newPod("train", "a", 1, inPhase(corev1.PodPending))}, 1},
		"running":             {"Reject", []*corev1.Pod{newPod("train", "a", 1, inPhase(corev1.PodRunning), bound)}, 1},
		"unknown":             {"Reject", []*corev1.Pod{newPod("train", "a", 1, inPhase(corev1.PodUnknown), bound)}, 1},
		"ended":               {"Reject", []*corev1.Pod{newPod("train", "a", 1, inPhase(corev1.PodSucceeded)), newPod("train", "b", 1, inPhase(corev1.PodFailed))}, 0},
		"being deleted":       {"Reject", []*corev1.Pod{newPod("train", "a", 1, bound, deleted)}, 1},
		"queued":              {"Queue", []*corev1.Pod{newPod("train", "a", 1, ours)}, 0},
		"of a team that queues, for a scheduler that holds nothing": {"Queue", []*corev1.Pod{newPod("train", "a", 1)}, 1},
		"queued, then bound":   {"Queue", []*corev1.Pod{newPod("train", "a", 1, bound)}, 1},
		"a claim beside a GPU": {"Reject", []*corev1.Pod{newPod("train", "a", 2, claiming)}, 2},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, clocktesting.NewFakeClock(noon))
			c.configure("teams: [{name: vision, policy: " + tt.policy + ", limits: {devices: 8}}]")
			c.create(tt.pods...)
			ledger := c.count()
			if got := ledger.Status.Committed[gpu]; got != tt.want {
				t.Errorf("%d are committed, want %d", got, tt.want)
			}
			if ledger.Status.AsOf == nil || ledger.Status.Devices.Value() != tt.want {
				t.Errorf("as of %v the team uses %v", ledger.Status.AsOf, ledger.Status.Devices)
			}
		})
	}
}

func TestAReservationEndsWhenItsPodIsSeen(t *testing.T) {
	t.Parallel()
	c := newCluster(t, clocktesting.NewFakeClock(noon))
	c.count()
	for _, name := range []string{"stored", "ended", "missing"} {
		c.reserve(name, 1)
	}
	c.create(newPod("train", "stored", 1), newPod("train", "ended", 1, inPhase(corev1.PodSucceeded)))
	ledger := c.count()
	if got := ledger.Status.Reservations; len(got) != 1 || got[0].UID != "missing" || ledger.Status.Committed[gpu] != 1 {
		t.Errorf("got %v", ledger.Status)
	}
}

// What its reservation says is another's clock.
func TestAReservationExpiresByOurClock(t *testing.T) {
	t.Parallel()
	clk := clocktesting.NewFakeClock(noon)
	c := newCluster(t, clk)
	c.count()
	c.reserve("missing", 1)
	for _, step := range []time.Duration{0, 30 * time.Second, lifetime - 30*time.Second - 1} {
		clk.Step(step)
		if got := len(c.count().Status.Reservations); got != 1 {
			t.Fatalf("after %s there are %d reservations", clk.Since(noon), got)
		}
	}
	clk.Step(1)
	if got := len(c.count().Status.Reservations); got != 0 {
		t.Errorf("after %s there are %d reservations", clk.Since(noon), got)
	}
	if len(c.controller.sightings["vision"]) != 1 {
		t.Error("the sighting went before the next count")
	}
	if c.count(); len(c.controller.sightings["vision"]) != 0 {
		t.Error("the sighting is kept for ever")
	}
}

// A request that was alive when the pods were listed may have stored its pod after that.
func TestASlowCountExpiresNothingThatItDidNotWaitFor(t *testing.T) {
	t.Parallel()
	clk := clocktesting.NewFakeClock(noon)
	c := newCluster(t, clk)
	c.count()
	c.reserve("late", 1)
	c.count() // It is seen for the first time.
	c.client.PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		clk.Step(lifetime)
		return false, nil, nil
	})
	if got := len(c.count().Status.Reservations); got != 1 {
		t.Errorf("there are %d reservations after the slow count", got)
	}
	if got := len(c.count().Status.Reservations); got != 0 {
		t.Errorf("there are %d reservations after the next", got)
	}
}

func TestAConflictDuringACount(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		meanwhile func(c *cluster)
		wantLists int
	}{
		// Or pods that are admitted faster than listed would keep it from its end.
		"a reservation was added: the list serves": {meanwhile: func(c *cluster) { c.reserve("a", 2) }, wantLists: 2},
		"another counted: what it saw may be gone from the reservations": {
			meanwhile: func(c *cluster) {
				c.reserve("a", 2)
				other := store.New(c.dynamic)
				counted := quota.Reconcile(c.ledger("vision"), nil, nil, noon)
				if _, err := other.Update(c.t.Context(), counted); err != nil {
					c.t.Error(err)
				}
			},
			wantLists: 4,
		},
		"the limits changed": {
			meanwhile: func(c *cluster) {
				c.configure("teams: [{name: vision, limits: {devices: 9}}]")
				if _, err := c.controller.configure(c.t.Context(), c.config.Load(), "vision"); err != nil {
					c.t.Error(err)
				}
				c.reserve("a", 2)
			},
			wantLists: 4,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, clocktesting.NewFakeClock(noon))
			c.count()
			c.calls()
			var once bool
			c.client.PrependReactor("list", "namespaces", func(clienttesting.Action) (bool, runtime.Object, error) {
				if !once {
					once = true
					test.meanwhile(c)
				}
				return false, nil, nil
			})
			c.create(newPod("serve", "b", 1))
			ledger := c.count()
			if len(ledger.Status.Reservations) != 1 || ledger.Status.Committed[gpu] != 1 || ledger.Status.Devices.Value() != 3 {
				t.Errorf("got %v", ledger.Status)
			}
			lists := 0
			for _, call := range c.calls() {
				if call == `list pods version="" limit=500` {
					lists++
				}
			}
			if lists != test.wantLists {
				t.Errorf("pods were listed %d times, want %d", lists, test.wantLists)
			}
		})
	}
}

func TestACountThatFindsTheSameWritesNothing(t *testing.T) {
	t.Parallel()
	clk := clocktesting.NewFakeClock(noon)
	c := newCluster(t, clk)
	c.create(newPod("train", "a", 1))
	first := c.count()
	clk.Step(staleAfter - time.Second)
	if again := c.count(); again.ResourceVersion != first.ResourceVersion {
		t.Error("it was written again")
	}
	clk.Step(time.Second)
	if again := c.count(); again.ResourceVersion == first.ResourceVersion || !again.Status.AsOf.After(first.Status.AsOf.Time) {
		t.Error("nobody can tell that it was counted since")
	}
}

func TestCountingWithoutAnswers(t *testing.T) {
	t.Parallel()
	c := newCluster(t, clocktesting.NewFakeClock(noon))
	if _, err := c.controller.Count(t.Context(), "audio"); !errors.Is(err, quota.ErrNoTeam) {
		t.Errorf("a team that is not configured: %v", err)
	}
	before := c.count()
	broken := errors.New("broken")
	c.client.PrependReactor("list", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		return action.GetNamespace() == "serve", nil, broken
	})
	c.create(newPod("train", "a", 1))
	if _, err := c.controller.Count(t.Context(), "vision"); !errors.Is(err, broken) {
		t.Errorf("a namespace that cannot be listed: %v", err)
	}
	if after := c.ledger("vision"); after.ResourceVersion != before.ResourceVersion {
		t.Error("half a count was written")
	}
	c.config.Store(nil)
	if _, err := c.controller.Count(t.Context(), "audio"); !errors.Is(err, quota.ErrNoTeam) {
		t.Errorf("without a configuration: %v", err)
	}
}

// slowObjects cannot say now whether anything exists.
type slowObjects struct{ noObjects }

func (slowObjects) Claim(string, string) (*resourceapi.ResourceClaim, error) {
	return nil, apierrors.NewServerTimeout(resourceapi.Resource("resourceclaims"), "get", 1)
}

// Less than a pod holds would let others in beside it.
func TestACountThatCannotReadClaimsWritesNothing(t *testing.T) {
	t.Parallel()
	c := newCluster(t, clocktesting.NewFakeClock(noon))
	c.create(newPod("train", "a", 2, claiming))
	before := c.count()
	c.controller.objects = slowObjects{}
	c.create(newPod("train", "b", 1))
	if _, err := c.controller.Count(t.Context(), "vision"); err == nil || !strings.Contains(err.Error(), "reading the claims of pod a") {
		t.Errorf("error %v, want one that names the pod", err)
	}
	if after := c.ledger("vision"); after.ResourceVersion != before.ResourceVersion {
		t.Error("half a count was written")
	}
}

// A pod that waits where nothing is enforced may wait for ever: it has no place.
func TestWhatWaitsWhereNothingIsEnforcedDoesNotCount(t *testing.T) {
	t.Parallel()
	c := newCluster(t, clocktesting.NewFakeClock(noon))
	tryout := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "tryout", Labels: map[string]string{v1alpha1.LabelTeam: "vision"}}}
	if _, err := c.client.CoreV1().Namespaces().Create(t.Context(), tryout, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.count()
	c.reserve("waits", 4)
	c.create(newPod("tryout", "waits", 4), newPod("tryout", "runs", 1, bound), newPod("train", "admitted", 2))
	ledger := c.count()
	if got := ledger.Status.Committed[gpu]; got != 3 || len(ledger.Status.Reservations) != 0 {
		t.Errorf("%d are committed, want the one that runs and the two that were admitted; reservations %v", got, ledger.Status.Reservations)
	}
}

// A pod that came and went between two counts leaves no reservation for a minute.
func TestAReservationEndsWhenItsPodCameAndWent(t *testing.T) {
	t.Parallel()
	clk := clocktesting.NewFakeClock(noon)
	c := newCluster(t, clk)
	c.count()
	c.reserve("brief", 1)
	c.reserve("pending", 1)
	c.controller.Stored("brief")
	ledger := c.count()
	if len(ledger.Status.Reservations) != 1 || ledger.Status.Reservations[0].Name != "pending" || ledger.Status.Devices.Value() != 1 {
		t.Errorf("got %v", ledger.Status)
	}
	clk.Step(2*lifetime + time.Second)
	c.controller.forget()
	if len(c.controller.stored) != 0 {
		t.Error("it is remembered for ever")
	}
}

// What is heard during the lists was not known before them: the pod may have been stored
// after the lists, and be there.
func TestAPodThatIsStoredDuringTheListsKeepsItsReservation(t *testing.T) {
	t.Parallel()
	c := newCluster(t, clocktesting.NewFakeClock(noon))
	c.count()
	c.reserve("late", 1)
	c.client.PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		c.controller.Stored("late")
		return false, nil, nil
	})
	if ledger := c.count(); len(ledger.Status.Reservations) != 1 {
		t.Errorf("got %v", ledger.Status)
	}
}

func ours(pod *corev1.Pod) { pod.Spec.SchedulerName = v1alpha1.SchedulerName }
