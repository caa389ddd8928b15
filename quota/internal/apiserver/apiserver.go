package apiserver

import (
	"fmt"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"wastenot.dev/api/v1alpha1"
)

// first is the version of the first write; versions of one length compare as text.
const first = 1000

// New returns a client of a server without ledgers.
func New() (*dynamicfake.FakeDynamicClient, error) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("registering ledgers: %w", err)
	}
	client := dynamicfake.NewSimpleDynamicClient(scheme)
	s := &server{tracker: client.Tracker(), version: first}
	// The fake runs reactors under its lock, so that a comparison and its write are one.
	resource := v1alpha1.QuotaLedgerResource.Resource
	client.PrependReactor("create", resource, s.create)
	client.PrependReactor("update", resource, s.update)
	client.PrependReactor("delete", resource, s.remove)
	return client, nil
}

type server struct {
	tracker clienttesting.ObjectTracker
	version int
}

func (s *server) create(action clienttesting.Action) (bool, runtime.Object, error) {
	create, ok := action.(clienttesting.CreateAction)
	if !ok {
		return false, nil, nil
	}
	object, err := meta.Accessor(create.GetObject())
	if err != nil {
		return true, nil, err
	}
	s.stamp(object)
	object.SetUID(types.UID("uid-" + object.GetResourceVersion()))
	return false, nil, nil
}

func (s *server) update(action clienttesting.Action) (bool, runtime.Object, error) {
	update, ok := action.(clienttesting.UpdateAction)
	if !ok {
		return false, nil, nil
	}
	object, err := meta.Accessor(update.GetObject())
	if err != nil {
		return true, nil, err
	}
	stored, err := s.stored(object.GetName())
	if err != nil {
		return true, nil, err
	}
	if stored.GetResourceVersion() != object.GetResourceVersion() {
		return true, nil, apierrors.NewConflict(v1alpha1.QuotaLedgerResource.GroupResource(), object.GetName(), nil)
	}
	s.stamp(object)
	return false, nil, nil
}

func (s *server) remove(action clienttesting.Action) (bool, runtime.Object, error) {
	remove, ok := action.(clienttesting.DeleteActionImpl)
	if !ok || remove.DeleteOptions.Preconditions == nil {
		return false, nil, nil
	}
	stored, err := s.stored(remove.GetName())
	if err != nil {
		return true, nil, err
	}
	want := remove.DeleteOptions.Preconditions
	if (want.UID != nil && *want.UID != stored.GetUID()) || (want.ResourceVersion != nil && *want.ResourceVersion != stored.GetResourceVersion()) {
		return true, nil, apierrors.NewConflict(v1alpha1.QuotaLedgerResource.GroupResource(), remove.GetName(), nil)
	}
	return false, nil, nil
}

func (s *server) stamp(object metav1.Object) {
	s.version++
	object.SetResourceVersion(strconv.Itoa(s.version))
}

func (s *server) stored(name string) (metav1.Object, error) {
	object, err := s.tracker.Get(v1alpha1.QuotaLedgerResource, "", name)
	if err != nil {
		return nil, err
	}
	return meta.Accessor(object)
}
