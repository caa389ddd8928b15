package app

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/yaml"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/internal/accelerator"
	"wastenot.dev/internal/liveconfig"
	"wastenot.dev/pricing"
	"wastenot.dev/webhook/candidate"
)

// book is a price book with the labels by which its rules tell nodes apart.
type book struct {
	*pricing.Book
	labels []string
}

func defaultBook() book { return book{Book: pricing.Default()} }

// parseBook reads prices.yaml.
func parseBook(text []byte) (book, error) {
	parsed, err := pricing.Parse(text)
	if err != nil {
		return book{}, err
	}
	var rules v1alpha1.PriceBook
	if err := yaml.Unmarshal(text, &rules); err != nil {
		return book{}, fmt.Errorf("reading the price book's selectors: %w", err)
	}
	labels := map[string]bool{}
	for _, rule := range rules.Rules {
		for label := range rule.NodeSelector {
			labels[label] = true
		}
	}
	return book{Book: parsed, labels: slices.Sorted(maps.Keys(labels))}, nil
}

// estimator prices pods over the nodes that they can land on.
type estimator struct {
	finder *candidate.Finder
	prices *liveconfig.Value[book]
	clock  clock.PassiveClock
}

// Estimate returns the annotations of the price of an hour and what was priced.
func (e *estimator) Estimate(ctx context.Context, pod *corev1.Pod, demand []accelerator.Demand) (annotations map[string]string, where string) {
	current := e.prices.Current()
	found, complete := e.finder.Options(ctx, pod, demand, current.labels)
	options := make([]pricing.Option, 0, len(found))
	for _, option := range found {
		options = append(options, pricing.Option(option))
	}
	return current.Range(options, complete, e.clock.Now()).Annotations(current.Book), candidate.Where(found)
}

// Hash identifies the price book.
func (e *estimator) Hash() string { return e.prices.Current().Book.Hash() }
