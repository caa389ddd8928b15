package pricing

import (
	"time"

	"wastenot.dev/api/v1alpha1"
)

// Estimate is what an hour of a pod costs before its node is known.
type Estimate struct {
	// Known tells that every candidate has a price: both bounds are known. Partial
	// tells that some have and some do not, or may not: MinMicros is the least of those
	// that have, and MaxMicros is not known. If neither, nothing is.
	Known, Partial bool
	// MinMicros and MaxMicros are micro-units of the book's currency per hour, 0 where
	// not known.
	MinMicros, MaxMicros int64
	// Basis is what was priced on the candidates that have a price.
	Basis      Basis
	Confidence Confidence
}

// Range returns the bounds of what an hour of a pod costs over its candidate nodes.
// Complete tells that these are all candidates that there are; what others may cost is
// not known. Nodes that are added later can lie outside.
func (b *Book) Range(options []Option, complete bool, now time.Time) Estimate {
	var e Estimate
	var priced int
	var abroad bool
	var most int64
	for i := range options {
		price := b.Hourly(options[i], now)
		if !price.Known {
			continue
		}
		if priced == 0 || price.Micros < e.MinMicros {
			e.MinMicros = price.Micros
		}
		most = max(most, price.Micros)
		e.Basis = e.Basis.and(price.Basis)
		abroad = abroad || price.Confidence == ConfidenceOtherRegion
		priced++
	}
	if priced == 0 {
		return Estimate{Basis: BasisUnknown, Confidence: ConfidenceNone}
	}
	e.Known = complete && priced == len(options)
	e.Partial = !e.Known
	if e.Known {
		e.MaxMicros = most
	}
	e.Confidence = e.confidence(abroad)
	return e
}

// confidence is of an estimate with at least one price; abroad tells that one of them is
// of another region.
func (e *Estimate) confidence(abroad bool) Confidence {
	switch {
	case e.Partial:
		return ConfidencePartial
	case abroad:
		return ConfidenceOtherRegion
	case e.MinMicros == e.MaxMicros:
		return ConfidencePinned
	default:
		return ConfidenceRange
	}
}

// Annotations are what is written on a pod at admission: what it costs at most, the
// bounds, and by which book. What is not known is written as the word.
func (e Estimate) Annotations(b *Book) map[string]string {
	annotations := b.annotations(e.Basis, e.Confidence)
	most := amountOr(e.MaxMicros, e.Known)
	annotations[v1alpha1.AnnotationHourly] = most
	annotations[v1alpha1.AnnotationHourlyMin] = amountOr(e.MinMicros, e.Known || e.Partial)
	annotations[v1alpha1.AnnotationHourlyMax] = most
	return annotations
}
