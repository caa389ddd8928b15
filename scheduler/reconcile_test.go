package scheduler

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"wastenot.dev/api/v1alpha1"
)

// given makes the pod one that runs on node a and was given the devices.
func given(pod *corev1.Pod, ids ...string) *corev1.Pod {
	pod = pod.DeepCopy()
	pod.Spec.NodeName = "a"
	var resources []corev1.ResourceHealth
	for _, id := range ids {
		resources = append(resources, corev1.ResourceHealth{ResourceID: corev1.ResourceID(id)})
	}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{AllocatedResourcesStatus: []corev1.ResourceStatus{{Name: gpu, Resources: resources}}}}
	return pod
}

func TestTheBookIsSettledByTheKubelet(t *testing.T) {
	bound := given(gpuPod("p"))
	inInit := given(gpuPod("p"), "GPU-1")
	inInit.Status.InitContainerStatuses, inInit.Status.ContainerStatuses = inInit.Status.ContainerStatuses, nil
	finished := given(gpuPod("p"))
	finished.Status.Phase = corev1.PodFailed
	tests := map[string]struct {
		pod         *corev1.Pod
		quarantined []*v1alpha1.Quarantine
		notBooked   bool
		wantBooked  bool
		wantEvents  int
	}{
		"not bound yet":                 {pod: gpuPod("p"), wantBooked: true},
		"bound, devices are not known":  {pod: bound, wantBooked: true},
		"it has ended without a device": {pod: finished},
		"a good device":                 {pod: given(gpuPod("p"), "GPU-2"), quarantined: []*v1alpha1.Quarantine{quarantineOf("a", "GPU-1")}},
		"a quarantined device":          {pod: given(gpuPod("p"), "GPU-2", "GPU-1"), quarantined: []*v1alpha1.Quarantine{quarantineOf("a", "GPU-1")}, wantEvents: 1},
		"two of them":                   {pod: given(gpuPod("p"), "GPU-2", "GPU-1"), quarantined: []*v1alpha1.Quarantine{quarantineOf("a", "GPU-1"), quarantineOf("a", "GPU-2")}, wantEvents: 1},
		"in an init container":          {pod: inInit, quarantined: []*v1alpha1.Quarantine{quarantineOf("a", "GPU-1")}, wantEvents: 1},
		"a share of a quarantined one":  {pod: given(gpuPod("p"), "GPU-1::3"), quarantined: []*v1alpha1.Quarantine{quarantineOf("a", "GPU-1")}, wantEvents: 1},
		"a device that was given back":  {pod: given(gpuPod("p"), "GPU-1"), quarantined: []*v1alpha1.Quarantine{quarantineOf("a", "GPU-1", released)}},
		"quarantined on another node":   {pod: given(gpuPod("p"), "GPU-1"), quarantined: []*v1alpha1.Quarantine{quarantineOf("b", "GPU-1")}},
		"a pod that others have placed": {pod: given(gpuPod("p"), "GPU-1"), quarantined: []*v1alpha1.Quarantine{quarantineOf("a", "GPU-1")}, notBooked: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.quarantines.put(test.quarantined...)
			if !test.notBooked {
				b.facts.book.enter(gpuPod("p"), "a")
			}
			for range 2 { // The kubelet says it again and again.
				b.facts.podUpdated(t.Context(), test.pod)
			}
			if booked := b.facts.book.len() == 1; booked != test.wantBooked {
				t.Errorf("in the book: %t", booked)
			}
			if len(b.events.Events) != test.wantEvents {
				t.Fatalf("%d events, want %d", len(b.events.Events), test.wantEvents)
			}
			if test.wantEvents > 0 {
				event := <-b.events.Events
				if !strings.Contains(event, "AcceleratorDegraded") || !strings.Contains(event, "GPU-1") {
					t.Errorf("event %q", event)
				}
				for _, q := range test.quarantined {
					if !strings.Contains(event, q.Spec.UUID) {
						t.Errorf("event %q, want %s in it", event, q.Spec.UUID)
					}
				}
			}
		})
	}
}

// handlers takes the handler that an informer is given.
type handlers struct {
	cache.SharedIndexInformer

	cache.ResourceEventHandler
}

// AddEventHandler keeps the handler.
func (h *handlers) AddEventHandler(handler cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	h.ResourceEventHandler = handler
	return nil, nil
}

func TestPodsThatAreGoneAreForgotten(t *testing.T) {
	b := newBench(t)
	pods := &handlers{}
	if err := b.facts.watchPods(t.Context(), pods); err != nil {
		t.Fatal(err)
	}
	for name, forget := range map[string]func(pod *corev1.Pod){
		"deleted":                    func(pod *corev1.Pod) { pods.OnDelete(pod) },
		"deleted, and it was missed": func(pod *corev1.Pod) { pods.OnDelete(cache.DeletedFinalStateUnknown{Obj: pod}) },
	} {
		b.facts.parked.add(gpuPod("p"))
		b.facts.book.enter(gpuPod("p"), "a")
		namesake := gpuPod("p")
		namesake.UID = "another"
		b.facts.parked.add(namesake)
		forget(gpuPod("p"))
		if b.facts.parked.len() != 1 || b.facts.book.len() != 0 {
			t.Errorf("%s: %d parked and %d in the book, want the namesake and none", name, b.facts.parked.len(), b.facts.book.len())
		}
		forget(namesake)
	}

	// One that another scheduler has placed waits no longer.
	b.facts.parked.add(gpuPod("p"))
	pods.OnUpdate(gpuPod("p"), given(gpuPod("p")))
	if b.facts.parked.len() != 0 {
		t.Error("a pod that has a node is parked")
	}
	pods.OnUpdate(nil, "no pod")
	pods.OnDelete("no pod")
}

func TestGone(t *testing.T) {
	store := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	gone := goneFrom(corelisters.NewPodLister(store))
	pod, successor := gpuPod("p"), gpuPod("p")
	successor.UID = "another"
	for name, test := range map[string]struct {
		held *corev1.Pod
		want bool
	}{
		"it is not there":             {want: true},
		"it is there":                 {held: pod},
		"only its successor is there": {held: successor, want: true},
	} {
		if err := store.Replace(nil, ""); err != nil {
			t.Fatal(err)
		}
		if test.held != nil {
			if err := store.Add(test.held); err != nil {
				t.Fatal(err)
			}
		}
		if got := gone(pod); got != test.want {
			t.Errorf("%s: gone: %t", name, got)
		}
	}
}
