package pricing

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/internal/accelerator"
)

// Option is a pod on one of the nodes that it may land on.
type Option struct {
	Node *corev1.Node
	// Wants is what the pod asks for. A Demand of KindDRA is for whole devices, unless
	// it has the MIG profile that its devices have.
	Wants []accelerator.Demand
}

// Price is what an hour of a pod costs on one node.
type Price struct {
	// Known tells whether all that the pod asks for has a price; if not, Micros is 0.
	Known bool
	// Micros are micro-units of the book's currency per hour, rounded half up.
	Micros int64
	Basis  Basis
	// Confidence is pinned, other-region or none.
	Confidence Confidence
	// Rate is the price of a whole device that the price was made of.
	Rate Rate
}

// Hourly returns what an hour of all that the pod asks for costs on the node: the sum of
// exact parts of the price of a device, rounded once. It is not known when any part of
// it is not, when the pod asks for nothing, and when it does not fit 64 bits.
func (b *Book) Hourly(o Option, now time.Time) Price {
	v := b.view(o.Node)
	rate := b.rate(&v, now)
	unknown := Price{Basis: BasisUnknown, Confidence: ConfidenceNone, Rate: rate}
	perDevice := rate.perDevice()
	if !perDevice.known() {
		return unknown
	}
	sum, basis := ratio{0, 1}, Basis("")
	for i := range o.Wants {
		want := &o.Wants[i]
		if want.Count == 0 {
			continue
		}
		part, priced := v.part(want)
		sum = sum.plus(part.times(ratioOf(want.Count, 1)).times(perDevice))
		basis = basis.and(priced)
	}
	micros, ok := sum.round()
	if !ok || basis == "" {
		return unknown
	}
	return Price{Known: true, Micros: micros, Basis: basis, Confidence: rate.Confidence, Rate: rate}
}

// Annotations are what is written on a pod when it is bound: its price on that node, and
// by which book. They say from then on what the shared keys of Estimate.Annotations said
// until then. What is not known is written as the word.
func (p Price) Annotations(b *Book) map[string]string {
	annotations := b.annotations(p.Basis, p.Confidence)
	annotations[v1alpha1.AnnotationBoundHourly] = amountOr(p.Micros, p.Known)
	return annotations
}

// annotations are those that prices and estimates share.
func (b *Book) annotations(basis Basis, confidence Confidence) map[string]string {
	return map[string]string{
		v1alpha1.AnnotationCurrency:   b.Currency(),
		v1alpha1.AnnotationBasis:      string(basis),
		v1alpha1.AnnotationPriceBook:  b.Hash(),
		v1alpha1.AnnotationConfidence: string(confidence),
	}
}

func amountOr(micros int64, known bool) string {
	if !known {
		return v1alpha1.Unknown
	}
	return Format(micros)
}
