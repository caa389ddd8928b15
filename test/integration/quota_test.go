//go:build integration

package integration

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/test/fixture/rig"
)

const (
	racers = 200
	// raceLimit is what the team may hold. The nodes have more, so that only quota says no.
	raceLimit = 5
)

// TestQuotaIsNotRaced: of many pods that are created at once in a team that has room for
// one, exactly one is admitted, by three replicas that share nothing but the ledger.
func TestQuotaIsNotRaced(t *testing.T) {
	onNative(t, rig.Options{Nodes: nodes, Webhooks: 3}, func(ctx context.Context, t *testing.T, r *rig.Rig) {
		fillTeam(ctx, t, r)
		admitted, refused := burst(ctx, t, r, "race", nil)
		t.Logf("%d creates at limit minus 1: %d admitted, refused: %v", racers, admitted, refused)
		if admitted != 1 {
			t.Errorf("%d admitted, want 1", admitted)
		}
		holdsItsLimit(ctx, t, r)
	})
}

// TestQuotaSurvivesAReplica: a replica that dies in the middle of a burst never lets two
// through. It may take a reservation along, which is free again once it has expired.
func TestQuotaSurvivesAReplica(t *testing.T) {
	onNative(t, rig.Options{Nodes: nodes, Webhooks: 3}, func(ctx context.Context, t *testing.T, r *rig.Rig) {
		fillTeam(ctx, t, r)
		cut := 0
		for round, delay := range []time.Duration{5, 15, 30, 60, 100} {
			victim := r.Webhooks[round%len(r.Webhooks)]
			admitted, refused := burst(ctx, t, r, fmt.Sprintf("race-%d", round), func() {
				time.Sleep(delay * time.Millisecond)
				victim.Kill()
			})
			cut += refused["webhook gone"]
			t.Logf("a replica killed %d ms into a burst of %d: %d admitted, refused: %v", delay, racers, admitted, refused)
			if admitted > 1 {
				t.Fatalf("%d admitted, want at most 1", admitted)
			}
			if admitted == 0 {
				retryPastExpiry(ctx, t, r, round)
			}
			holdsItsLimit(ctx, t, r)
			if err := victim.Restart(ctx); err != nil {
				t.Fatal(err)
			}
			leaveRoomForOne(ctx, t, r)
		}
		t.Logf("requests that the dying replicas took along: %d", cut)
	})
}

// holdsItsLimit asks the API server, which the watch may be behind.
func holdsItsLimit(ctx context.Context, t *testing.T, r *rig.Rig) {
	t.Helper()
	pods, err := r.Client.CoreV1().Pods("race").List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(pods.Items) != raceLimit {
		t.Fatalf("the team holds %d pods, want its limit of %d", len(pods.Items), raceLimit)
	}
	await(ctx, t, r, "the watch has seen them", func() bool {
		return r.Count(func(p rig.Pod) bool { return p.Namespace == "race" }) == raceLimit
	})
}

// retryPastExpiry creates a pod again and again until it is admitted: within the life of a
// reservation and a count.
func retryPastExpiry(ctx context.Context, t *testing.T, r *rig.Rig, round int) {
	t.Helper()
	began := time.Now()
	for try := 0; time.Since(began) < 2*time.Minute; try++ {
		pod := racer("again").Pod(fmt.Sprintf("again-%d-%d", round, try))
		if _, err := r.Client.CoreV1().Pods("race").Create(ctx, pod, metav1.CreateOptions{}); err == nil {
			t.Logf("none was admitted; a retry was after %s", time.Since(began).Round(100*time.Millisecond))
			return
		}
		time.Sleep(time.Second)
	}
	t.Fatal("none was admitted, and no retry within 2 minutes")
}

// leaveRoomForOne deletes the pods that the last burst brought.
func leaveRoomForOne(ctx context.Context, t *testing.T, r *rig.Rig) {
	t.Helper()
	for _, p := range r.Watch.Pods() {
		if p.Namespace == "race" && !p.Deleted && !strings.HasPrefix(p.Name, "first-") {
			if err := r.DeletePod(ctx, p.Namespace, p.Name); err != nil {
				t.Fatal(err)
			}
		}
	}
	await(ctx, t, r, "the ledger has room for one", func() bool {
		ledger, err := r.Ledger(ctx, "racers")
		return err == nil && ledger.Status.Committed[rig.ResourceGPU] == raceLimit-1 && len(ledger.Status.Reservations) == 0
	})
}

func racer(name string) rig.Workload {
	return rig.Workload{Namespace: "race", Name: name, Resource: rig.ResourceGPU}
}

// fillTeam gives team racers its limit and pods up to one less.
func fillTeam(ctx context.Context, t *testing.T, r *rig.Rig) {
	t.Helper()
	quota := fmt.Sprintf("teams: [{name: racers, owner: o, limits: {classes: {nvidia.com/gpu: %d}}}]", raceLimit)
	if err := r.SetConfig(ctx, v1alpha1.QuotaConfigMap, v1alpha1.QuotaKey, quota); err != nil {
		t.Fatal(err)
	}
	if err := r.Namespace(ctx, "race", map[string]string{v1alpha1.LabelTeam: "racers", v1alpha1.LabelMode: string(v1alpha1.ModeEnforce)}); err != nil {
		t.Fatal(err)
	}
	await(ctx, t, r, "the ledger is counted", func() bool {
		ledger, err := r.Ledger(ctx, "racers")
		return err == nil && ledger.Status.AsOf != nil
	})
	if err := r.Create(ctx, racer("first"), raceLimit-1); err != nil {
		t.Fatal(err)
	}
	await(ctx, t, r, "the first pods run", running(r, "race", "first", raceLimit-1))
}

// burst creates pods all at once, does meanwhile what is to be done, and returns how many
// were admitted, and how many were refused by which reason.
func burst(ctx context.Context, t *testing.T, r *rig.Rig, name string, meanwhile func()) (admitted int, refused map[string]int) {
	t.Helper()
	var together sync.WaitGroup
	errs := make([]error, racers)
	for i := range racers {
		together.Go(func() {
			pod := racer(name).Pod(fmt.Sprintf("%s-%d", name, i))
			_, errs[i] = r.Client.CoreV1().Pods("race").Create(ctx, pod, metav1.CreateOptions{})
		})
	}
	if meanwhile != nil {
		meanwhile()
	}
	together.Wait()
	refused = map[string]int{}
	for _, err := range errs {
		switch {
		case err == nil:
			admitted++
		case apierrors.IsForbidden(err):
			refused["403"]++
		case apierrors.IsTooManyRequests(err):
			refused["429"]++
		case strings.Contains(err.Error(), "enforce.pods.wastenot.dev"):
			refused["webhook gone"]++
		default:
			t.Errorf("refused for another reason: %v", err)
		}
	}
	return admitted, refused
}

// onNative runs the test on a fresh product of the native version.
func onNative(t *testing.T, options rig.Options, test func(ctx context.Context, t *testing.T, r *rig.Rig)) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	options.ScrapeInterval, options.Probation, options.Progress, options.Seed = scrapeInterval, probation, os.Stderr, 1
	r, err := rig.Start(ctx, options)
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	stopAtEnd(t, r, cancel)
	test(ctx, t, r)
}

// TestReservationsOfPodsThatNeverCameExpire: a pod that another admission plugin refuses
// after ours keeps its reservation for a minute. Until then there is no room, and the
// answer says that waiting helps; after it there is.
func TestReservationsOfPodsThatNeverCameExpire(t *testing.T) {
	onNative(t, rig.Options{Nodes: nodes, Webhooks: 1}, func(ctx context.Context, t *testing.T, r *rig.Rig) {
		fillTeam(ctx, t, r)
		// ResourceQuota comes after all webhooks.
		hard := corev1.ResourceList{corev1.ResourcePods: *resource.NewQuantity(raceLimit-1, resource.DecimalSI)}
		quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "later"}, Spec: corev1.ResourceQuotaSpec{Hard: hard}}
		if _, err := r.Client.CoreV1().ResourceQuotas("race").Create(ctx, quota, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		await(ctx, t, r, "the other quota is counted", func() bool {
			q, err := r.Client.CoreV1().ResourceQuotas("race").Get(ctx, "later", metav1.GetOptions{})
			used := q.Status.Used[corev1.ResourcePods]
			return err == nil && used.Value() == raceLimit-1
		})
		create := func(name string) error {
			_, err := r.Client.CoreV1().Pods("race").Create(ctx, racer(name).Pod(name), metav1.CreateOptions{})
			return err
		}
		if err := create("phantom"); err == nil || !strings.Contains(err.Error(), "exceeded quota: later") {
			t.Fatalf("error %v, want the refusal of the other quota", err)
		}
		if err := r.Client.CoreV1().ResourceQuotas("race").Delete(ctx, "later", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		// The client itself tries a few times more when it is told to wait.
		if err := create("early"); !apierrors.IsTooManyRequests(err) {
			t.Errorf("error %v, want 429: only a reservation is in the way", err)
		}
		retryPastExpiry(ctx, t, r, 0)
		if waited := time.Since(began); waited < 50*time.Second {
			t.Errorf("the reservation was gone after %s, want it to outlive any request of the API server", waited)
		}
	})
}
