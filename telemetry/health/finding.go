package health

import (
	"cmp"
	"slices"
	"time"

	"wastenot.dev/api/v1alpha1"
)

// Finding is one thing that counts against a device until evidence ends it.
type Finding struct {
	// Code is CamelCase, such as XID79 or RowRemapFailure.
	Code   string
	Grade  v1alpha1.Grade
	Action v1alpha1.Action
	Detail string
	// Source names where it was read.
	Source string
	// FirstSeen is when it was first read, and CleanSince when it was first read to be
	// gone; zero while it stands.
	FirstSeen, CleanSince time.Time
}

// Verdict is what all findings together make of a device.
type Verdict struct {
	Grade  v1alpha1.Grade
	Action v1alpha1.Action
	// Findings are what counts against the device, the gravest first.
	Findings []Finding
	// OnProbation tells that every finding is gone and probation is running.
	OnProbation bool
	// Why says what is missing when the grade is Unknown.
	Why string
	// VendorExcludes tells that the vendor's device plugin takes the device out of
	// allocatable by itself for what was seen.
	VendorExcludes bool
}

// CleanSince is when the last of the findings went away, zero when one stands.
func (v *Verdict) CleanSince() time.Time {
	var last time.Time
	for i := range v.Findings {
		if v.Findings[i].CleanSince.IsZero() {
			return time.Time{}
		}
		if v.Findings[i].CleanSince.After(last) {
			last = v.Findings[i].CleanSince
		}
	}
	return last
}

func sortFindings(findings []Finding) {
	slices.SortFunc(findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(b.Grade.Severity(), a.Grade.Severity()), a.FirstSeen.Compare(b.FirstSeen), cmp.Compare(a.Code, b.Code))
	})
}
