package quarantine

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/internal/fleet"
)

const (
	// settle is how long changes are gathered before the objects are looked at.
	settle = 20 * time.Millisecond
	// retry is how long the next try waits after one that failed.
	retry = time.Second
	// resync is how often the objects are looked at without a change.
	resync = 10 * time.Second
)

// Source is the fleet as it is kept elsewhere.
type Source interface {
	Snapshot() *fleet.Snapshot
	// Changed returns a channel that is closed at the next change.
	Changed() <-chan struct{}
	// Dismiss forgets a device and what counts against it.
	Dismiss(uuid string)
}

// Controller keeps the Quarantine objects in line with the fleet.
type Controller struct {
	// Client reads and writes the objects. Reads may come from a cache.
	Client client.Client
	Source Source
	// Objects tells that a quarantine changed; nil is allowed.
	Objects  <-chan struct{}
	Recorder events.EventRecorder
	Clock    clock.WithTicker

	// listed holds the names of the objects of the last pass.
	listed map[string]bool
}

// Run keeps reconciling until ctx ends.
func (c *Controller) Run(ctx context.Context) error {
	logger := klog.FromContext(ctx).WithName("quarantine")
	ticker := c.Clock.NewTicker(resync)
	defer ticker.Stop()
	for {
		changed, pause := c.Source.Changed(), settle
		if err := c.reconcile(klog.NewContext(ctx, logger)); err != nil && ctx.Err() == nil {
			logger.Error(err, "Reconciling quarantines; trying again", "delay", retry)
			changed, pause = closed, retry
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		case <-c.Objects:
		case <-ticker.C():
		}
		select {
		case <-ctx.Done():
			return nil
		case <-c.Clock.After(pause):
		}
	}
}

// closed is a channel that never makes anybody wait.
var closed = func() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// reconcile brings every object in line. One that cannot be written does not keep
// the others from it.
func (c *Controller) reconcile(ctx context.Context) error {
	var list v1alpha1.QuarantineList
	if err := c.Client.List(ctx, &list); err != nil {
		return fmt.Errorf("listing quarantines: %w", err)
	}
	existing := make(map[string]*v1alpha1.Quarantine, len(list.Items))
	for i := range list.Items {
		existing[list.Items[i].Name] = &list.Items[i]
	}
	var errs []error
	for _, node := range c.Source.Snapshot().Nodes {
		for i := range node.Devices {
			if err := c.reconcileDevice(ctx, node.Name, &node.Devices[i], existing); err != nil {
				errs = append(errs, err)
			}
		}
	}
	c.listed = make(map[string]bool, len(existing))
	for name := range existing {
		c.listed[name] = true
	}
	return errors.Join(errs...)
}

func (c *Controller) reconcileDevice(ctx context.Context, node string, d *fleet.Device, existing map[string]*v1alpha1.Quarantine) error {
	if d.UUID == "" {
		return nil
	}
	q := existing[objectName(d.UUID)]
	switch d.Grade {
	case v1alpha1.GradeUnknown:
		// Nobody knows, which is no recovery.
		return nil
	case v1alpha1.GradeFailed:
		if q == nil {
			return c.begin(ctx, node, d)
		}
		if ours(q) {
			return c.update(ctx, node, d, q)
		}
	default:
		if q != nil && ours(q) {
			return c.end(ctx, d, q)
		}
	}
	return nil
}

// ours tells whether the object is telemetry's and has not ended yet.
func ours(q *v1alpha1.Quarantine) bool { return managed(q) && q.DeletionTimestamp == nil }

// begin gives a device its object, unless it had one that an operator deleted after
// the device was last seen.
func (c *Controller) begin(ctx context.Context, node string, d *fleet.Device) error {
	if c.listed[objectName(d.UUID)] && c.Clock.Since(d.ObservedAt) > d.Budget {
		c.clear(ctx, node, d)
		return nil
	}
	return c.create(ctx, node, d)
}

// clear follows an operator who deleted the quarantine of a device that is no longer
// seen, as after a card was replaced. Nothing else could ever end it.
func (c *Controller) clear(ctx context.Context, node string, d *fleet.Device) {
	klog.FromContext(ctx).Info("The quarantine of a device that is no longer seen was deleted; forgetting the device", "node", node, "device", d.UUID)
	c.Source.Dismiss(d.UUID)
}

func (c *Controller) create(ctx context.Context, node string, d *fleet.Device) error {
	q := newObject(node, d)
	status := q.Status
	err := c.Client.Create(ctx, q)
	if apierrors.IsAlreadyExists(err) {
		return nil // The cache is behind; the next pass sees it.
	}
	if err != nil {
		return fmt.Errorf("creating quarantine %s: %w", q.Name, err)
	}
	klog.FromContext(ctx).Info("Quarantined a device", "node", node, "device", d.UUID, "reason", q.Spec.Reason, "action", q.Spec.Action)
	c.event(q, corev1.EventTypeWarning, v1alpha1.EventAcceleratorQuarantined,
		fmt.Sprintf("device %s (gpu %s) gets no new work: %s, needs %s", d.UUID, d.Index, q.Spec.Reason, q.Spec.Action))
	q.Status = status
	if err := c.Client.Status().Update(ctx, q); err != nil {
		return ignoreGone(fmt.Errorf("writing the status of quarantine %s: %w", q.Name, err))
	}
	return nil
}

func (c *Controller) update(ctx context.Context, node string, d *fleet.Device, q *v1alpha1.Quarantine) error {
	base := q.DeepCopy()
	q.Spec.Node, q.Spec.Model, q.Spec.Reason, q.Spec.Action = node, modelOf(d), reasonOf(d), d.Action
	if !equality.Semantic.DeepEqual(base.Spec, q.Spec) {
		if err := c.Client.Patch(ctx, q, client.MergeFrom(base)); err != nil {
			return ignoreGone(fmt.Errorf("patching quarantine %s: %w", q.Name, err))
		}
	}
	base = q.DeepCopy()
	q.Status = statusOf(d, q.Spec.Release != nil)
	if equality.Semantic.DeepEqual(base.Status, q.Status) {
		return nil
	}
	if err := c.Client.Status().Patch(ctx, q, client.MergeFrom(base)); err != nil {
		return ignoreGone(fmt.Errorf("patching the status of quarantine %s: %w", q.Name, err))
	}
	if q.Status.Phase == v1alpha1.PhaseReleased && base.Status.Phase != v1alpha1.PhaseReleased {
		klog.FromContext(ctx).Info("An operator released a device that still fails", "node", node, "device", d.UUID, "reason", q.Spec.Reason, "why", q.Spec.Release.Reason)
		c.event(q, corev1.EventTypeWarning, v1alpha1.EventAcceleratorReleased,
			fmt.Sprintf("device %s (gpu %s) gets work although it fails with %s: %s", d.UUID, d.Index, q.Spec.Reason, q.Spec.Release.Reason))
	}
	return nil
}

func (c *Controller) end(ctx context.Context, d *fleet.Device, q *v1alpha1.Quarantine) error {
	if err := c.Client.Delete(ctx, q, client.Preconditions{UID: &q.UID}); err != nil {
		return ignoreGone(fmt.Errorf("deleting quarantine %s: %w", q.Name, err))
	}
	klog.FromContext(ctx).Info("A device recovered", "node", q.Spec.Node, "device", d.UUID, "was", q.Spec.Reason)
	c.event(q, corev1.EventTypeNormal, v1alpha1.EventAcceleratorRecovered,
		fmt.Sprintf("device %s (gpu %s) gets work again: %s stayed away for the probation window", d.UUID, d.Index, q.Spec.Reason))
	return nil
}

// event tells of a quarantine on its node. It names the quarantine, without which the
// second of a node's devices would vanish behind the first.
func (c *Controller) event(q *v1alpha1.Quarantine, eventType, reason, note string) {
	if c.Recorder == nil {
		return
	}
	about := &corev1.ObjectReference{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Quarantine", Name: q.Name, UID: q.UID}
	// Events of a node are looked up by its name as the UID, as kubectl describe does.
	c.Recorder.Eventf(&corev1.Node{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
		ObjectMeta: metav1.ObjectMeta{Name: q.Spec.Node, UID: types.UID(q.Spec.Node)},
	}, about, eventType, reason, "Quarantine", "%s", note)
}

// ignoreGone drops the error of an object that somebody else removed or replaced:
// the next pass works from what is there then.
func ignoreGone(err error) error {
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}
