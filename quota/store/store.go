package store

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"wastenot.dev/api/v1alpha1"
)

// manager is the field manager of every write.
const manager = "wastenot-quota"

// Store reads and writes ledgers. Its methods may be called at any time, also before Run.
type Store struct {
	client   dynamic.ResourceInterface
	informer cache.SharedIndexInformer
	onChange []func(team string)
	synced   atomic.Bool

	mu     sync.Mutex
	latest map[string]*v1alpha1.QuotaLedger
}

// New returns a store that does not watch until Run.
func New(client dynamic.Interface) *Store {
	factory := dynamicinformer.NewDynamicSharedInformerFactory(client, 0)
	return &Store{
		client:   client.Resource(v1alpha1.QuotaLedgerResource),
		informer: factory.ForResource(v1alpha1.QuotaLedgerResource).Informer(),
		latest:   map[string]*v1alpha1.QuotaLedger{},
	}
}

// Get reads the team's ledger from the API server; apierrors.IsNotFound tells that there
// is none.
func (s *Store) Get(ctx context.Context, team string) (*v1alpha1.QuotaLedger, error) {
	object, err := s.client.Get(ctx, team, metav1.GetOptions{})
	if err != nil {
		s.forgetGone(team, err)
		return nil, fmt.Errorf("reading the ledger of team %s: %w", team, err)
	}
	return s.decodeAndLearn(object)
}

// Create stores a ledger that does not exist yet; apierrors.IsAlreadyExists tells that
// it does.
func (s *Store) Create(ctx context.Context, ledger *v1alpha1.QuotaLedger) (*v1alpha1.QuotaLedger, error) {
	object, err := encode(ledger)
	if err != nil {
		return nil, err
	}
	if object, err = s.client.Create(ctx, object, metav1.CreateOptions{FieldManager: manager}); err != nil {
		return nil, fmt.Errorf("creating the ledger of team %s: %w", ledger.Name, err)
	}
	return s.decodeAndLearn(object)
}

// Update replaces the whole ledger if nobody has since the version that it was made
// from; apierrors.IsConflict tells that somebody did. After any other error nobody knows
// whether it was written.
func (s *Store) Update(ctx context.Context, ledger *v1alpha1.QuotaLedger) (*v1alpha1.QuotaLedger, error) {
	if ledger.ResourceVersion == "" {
		// The API server would take it for "whatever is there".
		return nil, fmt.Errorf("writing the ledger of team %s: it was never read", ledger.Name)
	}
	object, err := encode(ledger)
	if err != nil {
		return nil, err
	}
	if object, err = s.client.Update(ctx, object, metav1.UpdateOptions{FieldManager: manager}); err != nil {
		s.forgetGone(ledger.Name, err)
		return nil, fmt.Errorf("writing the ledger of team %s: %w", ledger.Name, err)
	}
	return s.decodeAndLearn(object)
}

// Delete removes the ledger if it is still the version that was read, so that no
// reservation is lost; apierrors.IsConflict tells that it is not.
func (s *Store) Delete(ctx context.Context, ledger *v1alpha1.QuotaLedger) error {
	err := s.client.Delete(ctx, ledger.Name, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &ledger.UID, ResourceVersion: &ledger.ResourceVersion},
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting the ledger of team %s: %w", ledger.Name, err)
	}
	s.forget(ledger)
	return nil
}

// Latest returns the newest version of the team's ledger that was read, written or
// watched; nil where there is none, or none is known.
func (s *Store) Latest(team string) *v1alpha1.QuotaLedger {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.latest[team]
}

// Teams returns the names of all ledgers that are known, in order.
func (s *Store) Teams() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.latest))
}

func (s *Store) decodeAndLearn(object *unstructured.Unstructured) (*v1alpha1.QuotaLedger, error) {
	ledger, err := decode(object)
	if err != nil {
		return nil, err
	}
	s.learn(ledger)
	return ledger, nil
}

// learn keeps the ledger unless a newer version is known.
func (s *Store) learn(ledger *v1alpha1.QuotaLedger) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.latest[ledger.Name]; known != nil {
		// Versions that cannot be compared say nothing; what is heard last is taken.
		if order, err := resourceversion.CompareResourceVersion(known.ResourceVersion, ledger.ResourceVersion); err == nil && order >= 0 {
			return
		}
	}
	s.latest[ledger.Name] = ledger
}

// forget drops a ledger that was deleted, not one that was created in its place.
func (s *Store) forget(ledger *v1alpha1.QuotaLedger) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.latest[ledger.Name]; known != nil && known.UID == ledger.UID {
		delete(s.latest, ledger.Name)
	}
}

// forgetGone drops a ledger of which the API server says that it does not exist.
func (s *Store) forgetGone(team string, err error) {
	if !apierrors.IsNotFound(err) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.latest, team)
}

func encode(ledger *v1alpha1.QuotaLedger) (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(ledger)
	if err != nil {
		return nil, fmt.Errorf("encoding the ledger of team %s: %w", ledger.Name, err)
	}
	object := &unstructured.Unstructured{Object: content}
	object.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("QuotaLedger"))
	return object, nil
}

func decode(object *unstructured.Unstructured) (*v1alpha1.QuotaLedger, error) {
	ledger := &v1alpha1.QuotaLedger{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, ledger); err != nil {
		return nil, fmt.Errorf("decoding the ledger of team %s: %w", object.GetName(), err)
	}
	return ledger, nil
}
