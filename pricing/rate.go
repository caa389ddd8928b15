package pricing

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Confidence says how sure an amount is.
type Confidence string

// The degrees of confidence.
const (
	// ConfidencePinned: there is one price, and it is that of the node and its region.
	ConfidencePinned Confidence = "pinned"
	// ConfidenceRange: candidates have different prices, all known.
	ConfidenceRange Confidence = "range"
	// ConfidenceOtherRegion: a price is that of another region, as the list does not
	// have the node's, or the node does not say where it is.
	ConfidenceOtherRegion Confidence = "other-region"
	// ConfidencePartial: some candidates have no price, or there may be others.
	ConfidencePartial Confidence = "partial"
	// ConfidenceNone: no price is known.
	ConfidenceNone Confidence = "none"
)

// Rate is the price of an hour of one whole physical device of a node, with where it
// comes from.
type Rate struct {
	// Known tells whether there is a price; if not, Micros and Devices are 0.
	Known bool
	// Micros micro-units of the book's currency are the price of Devices devices. It is
	// never divided, as the quotient need not be an integer.
	Micros, Devices int64
	// Rule is the rule or the row of the list that was found, also where it gives no
	// price, such as "prices.yaml rules[3]" or "built-in list: aws p5.48xlarge us-east-1".
	Rule string
	// Source is where the price was read. SourceDate says when: of a rule its
	// effectiveFrom, of the list the date in words.
	Source, SourceDate string
	// Confidence is pinned, other-region or none.
	Confidence Confidence
}

// perDevice is the rate as a fraction.
func (r Rate) perDevice() ratio {
	if !r.Known {
		return ratio{}
	}
	return ratioOf(r.Micros, r.Devices)
}

// Device returns the price of one whole device of the node: that of the first rule with
// a nodeSelector that matches, else with the instance type, else with the product, else
// that of the built-in list for the instance type. The list's price is that of the
// node's region; where it has none of that region it is the highest of those it has.
//
// A price of the instance is divided by the rule's devices, else by those that the
// instance type is listed with, else by those that the node shows. An instance with a
// part of a device has one. Give devices in a rule for instances that are not listed:
// where a failed device is gone from both the node's labels and its capacity, the rest
// would pay for it.
func (b *Book) Device(node *corev1.Node, now time.Time) Rate {
	v := b.view(node)
	return b.rate(&v, now)
}

func (b *Book) rate(v *nodeView, now time.Time) Rate {
	if r := b.rules.find(v, now); r != nil {
		return r.rate(v)
	}
	if !b.useList || v.row == nil {
		return Rate{Confidence: ConfidenceNone}
	}
	rate := Rate{Rule: v.row.name, Source: v.row.source, SourceDate: v.row.readDate, Confidence: ConfidenceNone}
	if v.row.micros == 0 {
		return rate
	}
	rate.Known, rate.Micros, rate.Devices, rate.Confidence = true, v.row.micros, v.row.devices, ConfidenceOtherRegion
	if v.exact {
		rate.Confidence = ConfidencePinned
	}
	return rate
}

func (r *rule) rate(v *nodeView) Rate {
	rate := Rate{Rule: r.name, Source: r.source, SourceDate: r.effectiveFrom, Confidence: ConfidenceNone}
	devices := r.devices
	if r.perDevice {
		devices = 1
	}
	if devices == 0 {
		devices = v.listed()
	}
	if devices == 0 {
		devices = v.devices()
	}
	if devices == 0 {
		return rate
	}
	rate.Known, rate.Micros, rate.Devices, rate.Confidence = true, r.micros, devices, ConfidencePinned
	return rate
}
