package pricedbinding

import (
	"context"
	"sync"

	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/internal/accelerator"
	"wastenot.dev/internal/liveconfig"
	"wastenot.dev/pricing"
	"wastenot.dev/quota"
)

// shared is what all profiles price by: the book in force, and the classes that the
// quota configuration names, by which the webhook prices pods too.
type shared struct {
	book    func() *pricing.Book
	classes func() (classes accelerator.Classes, read bool)
	clock   clock.PassiveClock
	stop    context.CancelFunc
	running sync.WaitGroup
}

// newShared starts the watches of both. Until the price book was read, and without one,
// the built-in list is in force; without a quota configuration no class is named.
func newShared(ctx context.Context, client kubernetes.Interface, namespace string) *shared {
	prices := liveconfig.New(client, namespace, v1alpha1.PricesConfigMap, v1alpha1.PricesKey, pricing.Parse, pricing.Default())
	quotas := liveconfig.New(client, namespace, v1alpha1.QuotaConfigMap, v1alpha1.QuotaKey, quota.Parse, (*quota.Config)(nil))
	s := &shared{
		book: prices.Current, clock: clock.RealClock{},
		classes: func() (accelerator.Classes, bool) {
			read := quotas.Synced() // Before the value, which may be read in between.
			return quotas.Current(), read
		},
	}
	ctx, s.stop = context.WithCancel(ctx)
	s.watch(ctx, "the price book", prices.Run)
	s.watch(ctx, "the quota configuration", quotas.Run)
	return s
}

func (s *shared) watch(ctx context.Context, what string, run func(context.Context) error) {
	s.running.Go(func() {
		if err := run(ctx); err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "Watching a configuration", "what", what)
		}
	})
}

func (s *shared) close() {
	s.stop()
	s.running.Wait()
}
