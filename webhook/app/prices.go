package app

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"wastenot.dev/internal/accelerator"
	"wastenot.dev/internal/liveconfig"
	"wastenot.dev/pricing"
	"wastenot.dev/webhook/candidate"
)

// estimator prices pods over the nodes that they can land on.
type estimator struct {
	finder *candidate.Finder
	prices *liveconfig.Value[*pricing.Book]
	clock  clock.PassiveClock
}

// Estimate returns the annotations of the price of an hour and what was priced.
func (e *estimator) Estimate(ctx context.Context, pod *corev1.Pod, demand []accelerator.Demand) (annotations map[string]string, where string) {
	current := e.prices.Current()
	found, complete := e.finder.Options(ctx, pod, demand, current.Selects())
	options := make([]pricing.Option, 0, len(found))
	for _, option := range found {
		options = append(options, pricing.Option(option))
	}
	return current.Range(options, complete, e.clock.Now()).Annotations(current), candidate.Where(found)
}

// Hash identifies the price book.
func (e *estimator) Hash() string { return e.prices.Current().Hash() }
