package pricing

import (
	"maps"
	"slices"
	"time"
)

// dateLayout is how days are written.
const dateLayout = "2006-01-02"

// rule is one rule of a book that was found valid.
type rule struct {
	index                         int
	selector                      map[string]string
	instanceType, product, region string
	// micros are per device where perDevice is set, else per instance.
	micros    int64
	perDevice bool
	devices   int64 // 0 where the rule does not say
	// from is the first instant at which the rule applies and until the first after;
	// zero where it has no bound.
	from, until   time.Time
	name, source  string
	effectiveFrom string
}

// applies tells whether the rule is in force.
func (r *rule) applies(now time.Time) bool {
	return !now.Before(r.from) && (r.until.IsZero() || now.Before(r.until))
}

// overlaps tells whether both rules are in force at some instant.
func (r *rule) overlaps(other *rule) bool {
	return (r.until.IsZero() || other.from.Before(r.until)) && (other.until.IsZero() || r.from.Before(other.until))
}

// covers tells whether the rule is in force whenever the other is.
func (r *rule) covers(other *rule) bool {
	return !other.from.Before(r.from) && (r.until.IsZero() || (!other.until.IsZero() && !other.until.After(r.until)))
}

// ruleIndex finds the rules that can match a node without trying them all. Every list
// is in the order of the book.
type ruleIndex struct {
	// anchors are the label keys by which bySelector is found: of each selector, the
	// first in order.
	anchors               []string
	bySelector            map[label][]rule
	byInstance, byProduct map[string][]rule
}

type label struct{ key, value string }

// selected returns the keys of all selectors.
func selected(rules []rule) []string {
	keys := map[string]bool{}
	for i := range rules {
		for key := range rules[i].selector {
			keys[key] = true
		}
	}
	return slices.Sorted(maps.Keys(keys))
}

func indexOf(rules []rule) ruleIndex {
	index := ruleIndex{bySelector: map[label][]rule{}, byInstance: map[string][]rule{}, byProduct: map[string][]rule{}}
	anchors := map[string]bool{}
	for i := range rules {
		r := rules[i]
		switch {
		case len(r.selector) > 0:
			anchor := slices.Min(slices.Collect(maps.Keys(r.selector)))
			anchors[anchor] = true
			at := label{anchor, r.selector[anchor]}
			index.bySelector[at] = append(index.bySelector[at], r)
		case r.instanceType != "":
			index.byInstance[r.instanceType] = append(index.byInstance[r.instanceType], r)
		default:
			index.byProduct[r.product] = append(index.byProduct[r.product], r)
		}
	}
	index.anchors = slices.Sorted(maps.Keys(anchors))
	return index
}

// find returns the rule that prices a node, or nil: of those that apply now the first
// with a nodeSelector, else with the instance type, else with the product.
func (x *ruleIndex) find(n *nodeView, now time.Time) *rule {
	if found := x.findSelector(n.labels, now); found != nil {
		return found
	}
	if found := first(x.byInstance[n.instanceType], n.region, now); found != nil {
		return found
	}
	return first(x.byProduct[n.product], n.region, now)
}

func (x *ruleIndex) findSelector(labels map[string]string, now time.Time) *rule {
	var found *rule
	for _, anchor := range x.anchors {
		value, ok := labels[anchor]
		if !ok {
			continue
		}
		candidates := x.bySelector[label{anchor, value}]
		for i := range candidates {
			if found != nil && candidates[i].index > found.index {
				break
			}
			if candidates[i].applies(now) && selects(candidates[i].selector, labels) {
				found = &candidates[i]
				break
			}
		}
	}
	return found
}

// first returns the first rule for the region, or for any, that applies now.
func first(rules []rule, region string, now time.Time) *rule {
	for i := range rules {
		if (rules[i].region == "" || rules[i].region == region) && rules[i].applies(now) {
			return &rules[i]
		}
	}
	return nil
}

func selects(selector, labels map[string]string) bool {
	for key, value := range selector {
		if got, ok := labels[key]; !ok || got != value {
			return false
		}
	}
	return true
}
