package quarantine

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/internal/fleet"
)

const (
	healthy = v1alpha1.GradeHealthy
	suspect = v1alpha1.GradeSuspect
	failed  = v1alpha1.GradeFailed
	unknown = v1alpha1.GradeUnknown
)

// expected is the quarantine of fallen("GPU-A") on the node.
func expected(node string) v1alpha1.Quarantine {
	seen := metav1.Time{Time: midnight.Add(time.Second).Local()}
	return v1alpha1.Quarantine{
		ObjectMeta: metav1.ObjectMeta{Name: "gpu-a", Labels: map[string]string{"app.kubernetes.io/managed-by": "wastenot-telemetry"}},
		Spec:       v1alpha1.QuarantineSpec{Node: node, UUID: "GPU-A", Model: "NVIDIA L4", Reason: "XID79", Action: v1alpha1.ActionRebootNode},
		Status: v1alpha1.QuarantineStatus{
			Phase: v1alpha1.PhaseActive, VendorExcludes: true,
			Evidence: []v1alpha1.Evidence{
				{Code: "XID79", Grade: failed, Detail: "about XID79", Source: "dcgm", FirstSeen: seen},
				{Code: "PCIeReplays", Grade: suspect, Detail: "about PCIeReplays", Source: "dcgm", FirstSeen: seen},
			},
		},
	}
}

func (f *fixture) wantObjects(want ...v1alpha1.Quarantine) {
	f.t.Helper()
	byName := map[string]v1alpha1.Quarantine{}
	for _, q := range want {
		byName[q.Name] = q
	}
	if diff := cmp.Diff(byName, f.objects()); diff != "" {
		f.t.Errorf("quarantines (-want +got):\n%s", diff)
	}
}

func (f *fixture) wantWrites(what string, want map[string]int) {
	f.t.Helper()
	if want == nil {
		want = map[string]int{}
	}
	if diff := cmp.Diff(want, f.wrote()); diff != "" {
		f.t.Errorf("writes when %s (-want +got):\n%s", what, diff)
	}
}

func TestFailedDeviceGetsAQuarantineAndLosesItByRecovery(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.pass("node-1", device("GPU-A", healthy), device("GPU-B", suspect, reason("XID74", suspect)), device("", failed))
	f.wantObjects()
	f.wantWrites("nothing failed", nil)

	f.pass("node-1", fallen("GPU-A"))
	f.wantObjects(expected("node-1"))
	f.wantWrites("it failed", map[string]int{"create": 1, "update status": 1})
	if diff := cmp.Diff([]string{"Warning AcceleratorQuarantined device GPU-A (gpu 3) gets no new work: XID79, needs RebootNode"}, f.events()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}

	f.pass("node-1", fallen("GPU-A"))
	f.wantWrites("nothing changed", nil)

	onProbation := fallen("GPU-A")
	onProbation.CleanSince, onProbation.VendorExcludes = midnight.Add(90*time.Second+time.Millisecond), false
	f.pass("node-1", onProbation)
	want := expected("node-1")
	want.Status.Phase, want.Status.VendorExcludes = v1alpha1.PhaseProbation, false
	want.Status.CleanSince = &metav1.Time{Time: midnight.Add(90 * time.Second).Local()}
	f.wantObjects(want)
	f.wantWrites("probation began", map[string]int{"patch status": 1})
	f.pass("node-1", onProbation)
	f.wantWrites("probation goes on", nil)

	f.pass("node-1", fallen("GPU-A"))
	f.wantObjects(expected("node-1"))
	f.wantWrites("the fault came back", map[string]int{"patch status": 1})
	if recorded := f.events(); len(recorded) != 0 {
		t.Errorf("events between fault and recovery: %v", recorded)
	}

	f.pass("node-1", device("GPU-A", healthy))
	f.wantObjects()
	f.wantWrites("it recovered", map[string]int{"delete": 1})
	if diff := cmp.Diff([]string{"Normal AcceleratorRecovered device GPU-A (gpu 3) gets work again: XID79 stayed away for the probation window"}, f.events()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestWhatEndsAQuarantine(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		now  []fleet.Device
		ends bool
	}{
		"the device is healthy":                  {[]fleet.Device{device("GPU-A", healthy)}, true},
		"it is only suspect":                     {[]fleet.Device{device("GPU-A", suspect, reason("XID74", suspect))}, true},
		"nobody knows":                           {[]fleet.Device{device("GPU-A", unknown, reason("NoReading", unknown))}, false},
		"the device has vanished":                {[]fleet.Device{device("GPU-B", healthy)}, false},
		"the node has vanished":                  {nil, false},
		"a device without UUID is healthy":       {[]fleet.Device{device("", healthy)}, false},
		"it fails for another reason":            {[]fleet.Device{device("GPU-A", failed, reason("RowRemapFailure", failed))}, false},
		"it still fails though it was not read":  {[]fleet.Device{{UUID: "GPU-A", Grade: failed, Reasons: []fleet.Reason{reason("XID79", failed)}}}, false},
		"a grade of another version is no proof": {[]fleet.Device{device("GPU-A", unknown)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.pass("node-1", fallen("GPU-A"))
			f.pass("node-1", test.now...)
			if ended := len(f.objects()) == 0; ended != test.ends {
				t.Errorf("ended: %t, want %t", ended, test.ends)
			}
		})
	}
}

func TestObjectFollowsTheDevice(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.pass("node-1", fallen("GPU-A"))
	f.wrote()

	// The card was put into another node, and a graver finding came up.
	moved := fallen("GPU-A")
	moved.Model, moved.Action = "NVIDIA L4 24GB", v1alpha1.ActionReplaceDevice
	moved.Reasons = []fleet.Reason{reason("RowRemapFailure", failed)}
	f.pass("node-2", moved)
	want := expected("node-2")
	want.Spec.Model, want.Spec.Action, want.Spec.Reason = "NVIDIA L4 24GB", v1alpha1.ActionReplaceDevice, "RowRemapFailure"
	want.Status.Evidence = want.Status.Evidence[:1]
	want.Status.Evidence[0].Code, want.Status.Evidence[0].Detail = "RowRemapFailure", "about RowRemapFailure"
	f.wantObjects(want)
	f.wantWrites("the device moved", map[string]int{"patch": 1, "patch status": 1})
	f.pass("node-2", moved)
	f.wantWrites("nothing changed", nil)
}

// relatedRecorder keeps what Events relate to, by which repeated ones are gathered.
type relatedRecorder struct {
	events.EventRecorder
	related []string
}

func (r *relatedRecorder) Eventf(_, related runtime.Object, _, _, _, _ string, _ ...any) {
	r.related = append(r.related, related.(*corev1.ObjectReference).Name)
}

// TestEachDeviceHasItsEvent: an Event that looks like a former one is only counted, so
// those of a node's devices must differ in more than their text.
func TestEachDeviceHasItsEvent(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	recorder := &relatedRecorder{}
	f.Recorder = recorder
	f.pass("node-1", fallen("GPU-A"), fallen("GPU-B"))
	if diff := cmp.Diff([]string{"gpu-a", "gpu-b"}, recorder.related); diff != "" {
		t.Errorf("events relate to (-want +got):\n%s", diff)
	}
}

func TestReleaseIsNeverUndone(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.pass("node-1", fallen("GPU-A"))
	release := &v1alpha1.Release{Reason: "known false alarm"}
	f.edit("gpu-a", func(q *v1alpha1.Quarantine) { q.Spec.Release = release })
	f.wrote()
	f.events()

	want := expected("node-1")
	want.Spec.Release, want.Status.Phase = release, v1alpha1.PhaseReleased
	f.pass("node-1", fallen("GPU-A"))
	f.wantObjects(want)
	f.wantWrites("it was released", map[string]int{"patch status": 1})
	if got := f.events(); len(got) != 1 || !strings.Contains(got[0], "AcceleratorReleased") || !strings.Contains(got[0], release.Reason) {
		t.Errorf("the events are %q", got)
	}

	// Nor by another fault, which changes the rest of the object.
	other := fallen("GPU-A")
	other.Reasons = []fleet.Reason{reason("XID95", failed)}
	f.pass("node-1", other)
	want.Spec.Reason = "XID95"
	want.Status.Evidence = []v1alpha1.Evidence{want.Status.Evidence[0]}
	want.Status.Evidence[0].Code, want.Status.Evidence[0].Detail = "XID95", "about XID95"
	f.wantObjects(want)
	f.wrote()
	f.pass("node-1", other)
	f.wantWrites("nothing changed", nil)

	// Recovery removes it, so that the next fault counts again.
	f.pass("node-1", device("GPU-A", healthy))
	f.wantObjects()
	f.pass("node-1", fallen("GPU-A"))
	f.wantObjects(expected("node-1"))
}

func TestDeletedByAnOperator(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		readFor time.Duration
		back    bool
	}{
		"a device that still fails gets it back":     {readFor: budget, back: true},
		"one that is no longer read is let go":       {readFor: budget + time.Second, back: false},
		"one that has not been read for a long time": {readFor: 100 * time.Hour, back: false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.pass("node-1", fallen("GPU-A"))
			f.pass("node-1", fallen("GPU-A"))
			f.clock.Step(test.readFor)
			if err := f.Client.Delete(t.Context(), f.object("gpu-a")); err != nil {
				t.Fatal(err)
			}
			f.pass("node-1", fallen("GPU-A"))
			if back := len(f.objects()) == 1; back != test.back {
				t.Errorf("is back: %t, want %t", back, test.back)
			}
			if let := len(f.source.dismissed) == 1; let == test.back {
				t.Errorf("dismissed: %v", f.source.dismissed)
			}
		})
	}
}

// A device that failed and vanished before its object could be written still gets it.
func TestVanishedDeviceGetsItsObjectWhenTheServerIsBack(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.fail = func(string, client.Object) error { return apierrors.NewServiceUnavailable("down") }
	f.source.set("node-1", fallen("GPU-A"))
	if err := f.reconcile(t.Context()); !apierrors.IsServiceUnavailable(err) {
		t.Fatalf("error %v", err)
	}
	f.clock.Step(time.Hour)
	f.fail = nil
	f.pass("node-1", fallen("GPU-A"))
	f.wantObjects(expected("node-1"))
	if len(f.source.dismissed) != 0 {
		t.Errorf("dismissed: %v", f.source.dismissed)
	}
}

func TestStatusIsWrittenThoughTheProcessDiedInBetween(t *testing.T) {
	t.Parallel()
	bare := newObject("node-1", pointer(fallen("GPU-A")))
	bare.Status = v1alpha1.QuarantineStatus{}
	f := newFixture(t, bare)
	f.pass("node-1", fallen("GPU-A"))
	f.wantObjects(expected("node-1"))
	f.wantWrites("the status was missing", map[string]int{"patch status": 1})
}

func pointer(d fleet.Device) *fleet.Device { return &d }

func TestQuarantinesOfOthersAreNotTouched(t *testing.T) {
	t.Parallel()
	foreign := func(name, uuid string) *v1alpha1.Quarantine {
		return &v1alpha1.Quarantine{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app.kubernetes.io/managed-by": "somebody"}},
			Spec:       v1alpha1.QuarantineSpec{Node: "node-1", UUID: uuid, Reason: "Maintenance"},
		}
	}
	for name, object := range map[string]*v1alpha1.Quarantine{
		"of our name": foreign("gpu-a", "GPU-A"),
		"of another":  foreign("maintenance", "GPU-A"),
	} {
		for state, d := range map[string]fleet.Device{"healthy": device("GPU-A", healthy), "failed": fallen("GPU-A")} {
			t.Run(name+", the device is "+state, func(t *testing.T) {
				t.Parallel()
				f := newFixture(t, object.DeepCopy())
				f.pass("node-1", d)
				f.pass("node-1", device("GPU-A", healthy))
				if diff := cmp.Diff(*object, f.objects()[object.Name]); diff != "" {
					t.Errorf("it was changed (-want +got):\n%s", diff)
				}
			})
		}
	}
}

func TestObjectThatIsBeingDeletedIsLeftAlone(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.pass("node-1", fallen("GPU-A"))
	f.edit("gpu-a", func(q *v1alpha1.Quarantine) { q.Finalizers = []string{"example.com/audit"} })
	if err := f.Client.Delete(t.Context(), f.object("gpu-a")); err != nil {
		t.Fatal(err)
	}
	f.wrote()
	for _, d := range []fleet.Device{fallen("GPU-A"), device("GPU-A", healthy)} {
		f.pass("node-1", d)
	}
	f.wantWrites("it was being deleted", nil)
}

// What somebody else did meanwhile is no error; the next pass works from what is there.
func TestLostRacesAreNoErrors(t *testing.T) {
	t.Parallel()
	resource := schema.GroupResource{Group: "wastenot.dev", Resource: "quarantines"}
	gone := apierrors.NewNotFound(resource, "gpu-a")
	conflict := apierrors.NewConflict(resource, "gpu-a", errors.New("changed"))
	exists := apierrors.NewAlreadyExists(resource, "gpu-a")
	probation := fallen("GPU-A")
	probation.CleanSince = midnight
	moved := fallen("GPU-A")
	moved.Model = "another"
	for name, test := range map[string]struct {
		verb   string
		err    error
		before []fleet.Device
		now    fleet.Device
		wantOK bool
	}{
		"created by the pass before, which the cache has not seen": {"create", exists, nil, fallen("GPU-A"), true},
		"deleted before its first status":                          {"update status", gone, nil, fallen("GPU-A"), true},
		"changed before its first status":                          {"update status", conflict, nil, fallen("GPU-A"), true},
		"deleted before its spec was patched":                      {"patch", gone, []fleet.Device{fallen("GPU-A")}, moved, true},
		"deleted before its status was patched":                    {"patch status", gone, []fleet.Device{fallen("GPU-A")}, probation, true},
		"replaced before its status was patched":                   {"patch status", conflict, []fleet.Device{fallen("GPU-A")}, probation, true},
		"deleted by an operator at its end":                        {"delete", gone, []fleet.Device{fallen("GPU-A")}, device("GPU-A", healthy), true},
		"replaced at its end":                                      {"delete", conflict, []fleet.Device{fallen("GPU-A")}, device("GPU-A", healthy), true},
		"the server refuses the object":                            {"create", apierrors.NewBadRequest("no"), nil, fallen("GPU-A"), false},
		"the server refuses the first status":                      {"update status", apierrors.NewBadRequest("no"), nil, fallen("GPU-A"), false},
		"the server refuses the patch":                             {"patch", apierrors.NewBadRequest("no"), []fleet.Device{fallen("GPU-A")}, moved, false},
		"the server refuses the status":                            {"patch status", apierrors.NewBadRequest("no"), []fleet.Device{fallen("GPU-A")}, probation, false},
		"the server refuses the end":                               {"delete", apierrors.NewBadRequest("no"), []fleet.Device{fallen("GPU-A")}, device("GPU-A", healthy), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			if test.before != nil {
				f.pass("node-1", test.before...)
			}
			f.events()
			f.fail = func(verb string, _ client.Object) error {
				if verb == test.verb {
					return test.err
				}
				return nil
			}
			f.source.set("node-1", test.now)
			err := f.reconcile(t.Context())
			if (err == nil) != test.wantOK {
				t.Errorf("error %v, want one: %t", err, !test.wantOK)
			}
			if err != nil && !strings.Contains(err.Error(), "gpu-a") {
				t.Errorf("error %q does not name the object", err)
			}
			if recorded := f.events(); test.verb == "delete" && !test.wantOK && len(recorded) != 0 {
				t.Errorf("recorded %v of an end that was refused", recorded)
			}
		})
	}
}

func TestOneObjectDoesNotKeepTheOthers(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.fail = func(verb string, object client.Object) error {
		if verb == "create" && object.GetName() == "gpu-b" {
			return apierrors.NewBadRequest("refused")
		}
		return nil
	}
	f.source.set("node-1", fallen("GPU-A"), fallen("GPU-B"), fallen("GPU-C"))
	err := f.reconcile(t.Context())
	if err == nil || !strings.Contains(err.Error(), "gpu-b") {
		t.Errorf("error %v does not name the object", err)
	}
	if objects := f.objects(); len(objects) != 2 || objects["gpu-b"].Name != "" {
		t.Errorf("quarantines of %d devices, want those of GPU-A and GPU-C", len(objects))
	}
}

// An object that somebody replaced in between is not the one that ended.
func TestOnlyTheObjectThatWasSeenIsDeleted(t *testing.T) {
	t.Parallel()
	q := newObject("node-1", pointer(fallen("GPU-A")))
	q.UID = "seen"
	f := newFixture(t, q)
	f.pass("node-1", device("GPU-A", healthy))
	if len(f.deletes) != 1 || f.deletes[0].Preconditions == nil || f.deletes[0].Preconditions.UID == nil || *f.deletes[0].Preconditions.UID != "seen" {
		t.Errorf("deleted with %+v", f.deletes)
	}
}
