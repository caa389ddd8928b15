package store

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/quota/internal/apiserver"
)

// patience is how long a test waits for what must come; it bounds failures only.
const patience = 30 * time.Second

func newStore(t *testing.T) (*Store, *dynamicfake.FakeDynamicClient) {
	t.Helper()
	client, err := apiserver.New()
	if err != nil {
		t.Fatal(err)
	}
	return New(client), client
}

func newLedger(team string, devices int64) *v1alpha1.QuotaLedger {
	ledger := &v1alpha1.QuotaLedger{ObjectMeta: metav1.ObjectMeta{Name: team}}
	ledger.Spec = v1alpha1.QuotaLedgerSpec{ConfigHash: "abc", Policy: v1alpha1.QuotaReject}
	ledger.Spec.Limits.Devices = resource.NewQuantity(devices, resource.DecimalSI)
	return ledger
}

func created(t *testing.T, s *Store, ledger *v1alpha1.QuotaLedger) *v1alpha1.QuotaLedger {
	t.Helper()
	stored, err := s.Create(t.Context(), ledger)
	if err != nil {
		t.Fatal(err)
	}
	return stored
}

func TestWhatIsStoredIsRead(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	ledger := newLedger("a", 8)
	at := metav1.MicroTime{Time: time.Date(2026, 1, 1, 12, 0, 0, 123456000, time.UTC)}
	ledger.Spec.Classes = map[string]v1alpha1.AcceleratorClass{"nvidia.com/gpu.shared": {Devices: resource.MustParse("250m")}}
	ledger.Status = v1alpha1.QuotaLedgerStatus{
		Devices: resource.NewScaledQuantity(1_142_857, resource.Micro), Committed: map[string]int64{"nvidia.com/gpu": 1 << 62}, AsOf: &at,
		Reservations: []v1alpha1.QuotaReservation{{UID: "u", Namespace: "ns", Name: "p", Demand: map[string]int64{"nvidia.com/gpu": 1}, At: at}},
	}
	created(t, s, ledger)
	got, err := s.Get(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	if !equality.Semantic.DeepEqual(ledger.Spec, got.Spec) || !equality.Semantic.DeepEqual(ledger.Status, got.Status) {
		t.Errorf("got %v %v, want %v %v", got.Spec, got.Status, ledger.Spec, ledger.Status)
	}
	if _, err := s.Create(t.Context(), newLedger("a", 1)); !apierrors.IsAlreadyExists(err) {
		t.Errorf("creating it again: %v", err)
	}
	if _, err := s.Get(t.Context(), "b"); !apierrors.IsNotFound(err) {
		t.Errorf("reading another: %v", err)
	}
}

func TestUpdateIsACompareAndSwap(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	read := created(t, s, newLedger("a", 8))
	mine, others := read.DeepCopy(), read.DeepCopy()
	mine.Spec.ConfigHash, others.Spec.ConfigHash = "mine", "others"
	written, err := s.Update(t.Context(), mine)
	if err != nil {
		t.Fatal(err)
	}
	if latest := s.Latest("a"); latest != written || latest.Spec.ConfigHash != "mine" || latest.ResourceVersion == read.ResourceVersion {
		t.Errorf("the latest is %v, want what was written", latest)
	}
	if _, err := s.Update(t.Context(), others); !apierrors.IsConflict(err) {
		t.Errorf("writing over another's change: %v", err)
	}
	others.ResourceVersion = ""
	if _, err := s.Update(t.Context(), others); err == nil || apierrors.IsConflict(err) {
		t.Errorf("writing what was never read: %v", err)
	}
	if latest := s.Latest("a"); latest != written {
		t.Errorf("the latest is %v", latest)
	}
}

func TestDeleteLosesNoReservation(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	read := created(t, s, newLedger("a", 8))
	written, err := s.Update(t.Context(), read)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(t.Context(), read); !apierrors.IsConflict(err) || s.Latest("a") == nil {
		t.Errorf("deleting an older version: %v", err)
	}
	for range 2 {
		if err := s.Delete(t.Context(), written); err != nil || s.Latest("a") != nil {
			t.Errorf("deleting it: %v", err)
		}
	}
}

func TestLatestIsTheNewest(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	logger := klog.Background()
	version := func(uid, version string) *v1alpha1.QuotaLedger {
		ledger := newLedger("a", 8)
		ledger.UID, ledger.ResourceVersion = types.UID(uid), version
		return ledger
	}
	latest := func(want string) {
		t.Helper()
		got := "none"
		if ledger := s.Latest("a"); ledger != nil {
			got = ledger.ResourceVersion
		}
		if got != want {
			t.Errorf("the latest is %s, want %s", got, want)
		}
	}
	heard := func(ledger *v1alpha1.QuotaLedger) {
		object, err := encode(ledger)
		if err != nil {
			t.Fatal(err)
		}
		s.heard(logger, object)
	}
	gone := func(ledger *v1alpha1.QuotaLedger) {
		object, err := encode(ledger)
		if err != nil {
			t.Fatal(err)
		}
		s.gone(logger, cache.DeletedFinalStateUnknown{Key: "a", Obj: object})
	}
	s.learn(version("1", "99"))
	heard(version("1", "98"))
	latest("99")
	heard(version("1", "100"))
	latest("100")
	gone(version("1", "98"))
	latest("none")
	s.learn(version("2", "103"))
	gone(version("1", "102")) // The watch is behind: the ledger was made anew.
	latest("103")
	heard(version("2", "odd"))
	latest("odd")
}

func TestRunFollowsOthers(t *testing.T) {
	t.Parallel()
	s, client := newStore(t)
	other := New(client)
	ledger := created(t, other, newLedger("a", 8))
	heard := make(chan string, 10)
	s.OnChange(func(team string) { heard <- team })
	stop := run(t, s)
	await(t, heard, "a")
	for !s.Synced() {
		time.Sleep(time.Millisecond)
	}
	if diff := cmp.Diff([]string{"a"}, s.Teams()); diff != "" {
		t.Error(diff)
	}
	next := ledger.DeepCopy()
	next.Spec.ConfigHash = "next"
	if _, err := other.Update(t.Context(), next); err != nil {
		t.Fatal(err)
	}
	await(t, heard, "a")
	if got := s.Latest("a").Spec.ConfigHash; got != "next" {
		t.Errorf("the latest is of %q", got)
	}
	if err := other.Delete(t.Context(), other.Latest("a")); err != nil {
		t.Fatal(err)
	}
	await(t, heard, "a")
	if s.Latest("a") != nil {
		t.Error("the ledger is still there")
	}
	stop()
}

func TestRunWaitsForTheCRD(t *testing.T) {
	t.Parallel()
	s, client := newStore(t)
	created(t, New(client), newLedger("a", 8))
	installed := make(chan struct{})
	tried := make(chan struct{}, 100)
	client.PrependReactor("list", "quotaledgers", func(clienttesting.Action) (bool, runtime.Object, error) {
		select {
		case <-installed:
			return false, nil, nil
		default:
			tried <- struct{}{}
			return true, nil, apierrors.NewNotFound(v1alpha1.QuotaLedgerResource.GroupResource(), "")
		}
	})
	heard := make(chan string, 10)
	s.OnChange(func(team string) { heard <- team })
	stop := run(t, s)
	select {
	case <-tried:
	case <-time.After(patience):
		t.Fatal("nobody tried")
	}
	if s.Synced() {
		t.Error("it is synced without the CRD")
	}
	close(installed)
	await(t, heard, "a")
	stop()
}

func TestAnUnreadableLedgerKeepsWhatWasKnown(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	ledger := created(t, s, newLedger("a", 8))
	object, err := encode(ledger)
	if err != nil {
		t.Fatal(err)
	}
	object.SetResourceVersion("9999")
	object.Object["status"] = map[string]any{"committed": "many"}
	s.heard(klog.Background(), object)
	if s.Latest("a") != ledger {
		t.Error("it was forgotten")
	}
	s.heard(klog.Background(), &corev1.Pod{})
}

func run(t *testing.T, s *Store) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	return func() {
		cancel()
		select {
		case err := <-done:
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		case <-time.After(patience):
			t.Fatal("it does not end")
		}
	}
}

func await(t *testing.T, heard <-chan string, want string) {
	t.Helper()
	select {
	case got := <-heard:
		if got != want {
			t.Fatalf("heard of %s, want %s", got, want)
		}
	case <-time.After(patience):
		t.Fatalf("heard nothing of %s", want)
	}
}
