package reconcile

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/pager"
	"k8s.io/klog/v2"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/internal/accelerator"
	"wastenot.dev/quota"
)

const (
	// staleAfter is how old a count may become in the ledger when a newer one found the
	// same: to write each of them would cost admission a conflict.
	staleAfter = time.Minute
	// rebases is how often the result of one list is put over a ledger that grew meanwhile.
	rebases = 20
	// listers is how many namespaces are listed at once.
	listers = 4
)

// Count counts what the team's pods hold, writes that to its ledger and returns the
// ledger. A configured team without a ledger gets one; quota.ErrNoTeam tells that the
// team has neither. It may run anywhere, any number of times at once.
func (c *Controller) Count(ctx context.Context, team string) (*v1alpha1.QuotaLedger, error) {
	var err error
	for range tries {
		var ledger *v1alpha1.QuotaLedger
		if ledger, err = c.read(ctx, team); err != nil {
			return nil, err
		}
		if ledger, err = c.countInto(ctx, ledger); err == nil {
			return ledger, nil
		}
		// A list of many pages expires where the pods change faster than it is read.
		if !retryable(err) && !apierrors.IsResourceExpired(err) {
			return nil, err
		}
	}
	return nil, err
}

// read returns the ledger as the API server has it now, which may be newly made.
func (c *Controller) read(ctx context.Context, team string) (*v1alpha1.QuotaLedger, error) {
	ledger, err := c.ledgers.Get(ctx, team)
	if !apierrors.IsNotFound(err) {
		return ledger, err
	}
	cfg := c.config()
	if _, ok := cfg.Team(team); !ok {
		return nil, fmt.Errorf("counting team %s: %w", team, quota.ErrNoTeam)
	}
	return c.configure(ctx, cfg, team)
}

// countInto counts for a ledger that was just read. What is listed is listed after that.
func (c *Controller) countInto(ctx context.Context, ledger *v1alpha1.QuotaLedger) (*v1alpha1.QuotaLedger, error) {
	started := c.clock.Now()
	c.see(ledger)
	// Expiry is as of before the lists: a request that was alive then may have stored
	// its pod after them.
	over := c.over(ledger, started)
	held, err := c.held(ctx, ledger)
	if err != nil {
		return nil, err
	}
	for try := 0; ; try++ {
		written, err := c.writeCount(ctx, ledger, quota.Reconcile(ledger, held, over.Has, started))
		if err == nil || !apierrors.IsConflict(err) || try == rebases {
			return written, err
		}
		now, getErr := c.ledgers.Get(ctx, ledger.Name)
		if getErr != nil || !quota.OnlyGrew(ledger, now) {
			return nil, err
		}
		ledger = now
	}
}

// writeCount writes the ledger after a count, unless the one before says the same and was
// written lately.
func (c *Controller) writeCount(ctx context.Context, before, counted *v1alpha1.QuotaLedger) (*v1alpha1.QuotaLedger, error) {
	if asOf := before.Status.AsOf; asOf != nil && counted.Status.AsOf.Sub(asOf.Time) < staleAfter {
		same := *counted
		same.Status.AsOf, same.Status.Counts = asOf, before.Status.Counts
		if equality.Semantic.DeepEqual(before.Status, same.Status) {
			return before, nil
		}
	}
	return c.ledgers.Update(ctx, counted)
}

// held lists all pods of the team's namespaces.
func (c *Controller) held(ctx context.Context, ledger *v1alpha1.QuotaLedger) ([]quota.Held, error) {
	namespaces, err := c.namespaces(ctx, ledger.Name)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var all []quota.Held
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(listers)
	for _, namespace := range namespaces {
		group.Go(func() error {
			held, err := c.heldIn(ctx, &namespace, ledger)
			mu.Lock()
			defer mu.Unlock()
			all = append(all, held...)
			return err
		})
	}
	return all, group.Wait()
}

// namespaces lists the team's namespaces. No resource version is given here and below:
// that is what makes the API server answer as of now.
func (c *Controller) namespaces(ctx context.Context, team string) ([]corev1.Namespace, error) {
	var namespaces []corev1.Namespace
	lists := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return c.client.CoreV1().Namespaces().List(ctx, options)
	})
	selector := labels.SelectorFromSet(labels.Set{v1alpha1.LabelTeam: team})
	err := lists.EachListItem(ctx, metav1.ListOptions{LabelSelector: selector.String()}, func(object runtime.Object) error {
		if namespace, ok := object.(*corev1.Namespace); ok {
			namespaces = append(namespaces, *namespace)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("listing the namespaces of team %s: %w", team, err)
	}
	return namespaces, nil
}

func (c *Controller) heldIn(ctx context.Context, namespace *corev1.Namespace, ledger *v1alpha1.QuotaLedger) ([]quota.Held, error) {
	var held []quota.Held
	// Pods that wait have a place only where quota gave them one. Elsewhere one that no
	// node will ever take would keep the team from the rest of its quota.
	enforced := v1alpha1.Mode(namespace.Labels[v1alpha1.LabelMode]) == v1alpha1.ModeEnforce
	hasPlace := func(pod *corev1.Pod) bool {
		queues := ledger.Spec.Policy == v1alpha1.QuotaQueue && slices.Contains(c.served, pod.Spec.SchedulerName)
		return pod.Spec.NodeName != "" || (enforced && !queues)
	}
	lists := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return c.client.CoreV1().Pods(namespace.Name).List(ctx, options)
	})
	err := lists.EachListItem(ctx, metav1.ListOptions{}, func(object runtime.Object) error {
		pod, ok := object.(*corev1.Pod)
		if !ok {
			return nil
		}
		if !hasPlace(pod) {
			held = append(held, quota.Held{UID: pod.UID})
			return nil
		}
		demand, err := c.demand(ctx, pod, &ledger.Spec)
		held = append(held, quota.Held{UID: pod.UID, Demand: demand})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("listing the pods of namespace %s: %w", namespace.Name, err)
	}
	return held, nil
}

// demand is what the pod holds: nothing once it has ended. One that is being deleted holds
// its devices until it is gone. Of a pod whose claims do not exist the rest counts; when they cannot be read
// now, nothing may be concluded.
func (c *Controller) demand(ctx context.Context, pod *corev1.Pod, spec *v1alpha1.QuotaLedgerSpec) (map[string]int64, error) {
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return nil, nil
	}
	demands, err := accelerator.DemandOf(pod, c.objects, quota.Classes(spec.Classes))
	if accelerator.Transient(err) {
		return nil, fmt.Errorf("reading the claims of pod %s: %w", pod.Name, err)
	}
	if err != nil {
		klog.FromContext(ctx).V(2).Info("Counting a pod whose claims cannot all be found: what can be found counts", "pod", klog.KObj(pod), "err", err)
	}
	return accelerator.Counts(demands), nil
}
