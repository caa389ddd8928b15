package decide

import (
	"encoding/json"
	"strings"

	"wastenot.dev/api/v1alpha1"
)

// Record is a decision with its inputs, for the log, the audit log and the metrics. It
// holds no part of the pod but names and what it asks for.
type Record struct {
	// Operation is Mutate, Create or Update.
	Operation string `json:"operation"`
	DryRun    bool   `json:"dryRun,omitempty"`
	// User sent the request.
	User      string `json:"user"`
	Namespace string `json:"namespace"`
	// Name is the pod's, or what it will begin with.
	Name string `json:"name,omitempty"`
	UID  string `json:"uid,omitempty"`

	Mode   v1alpha1.Mode        `json:"mode,omitempty"`
	Team   string               `json:"team,omitempty"`
	Owner  string               `json:"owner,omitempty"`
	Policy v1alpha1.QuotaPolicy `json:"policy,omitempty"`
	// Demand is what the pod asks for, in units by class.
	Demand map[string]int64 `json:"demand,omitempty"`
	// Price is an hour of it in words.
	Price string `json:"price,omitempty"`
	// QuotaHash and PricesHash identify the configuration that was in force.
	QuotaHash  string `json:"quotaHash,omitempty"`
	PricesHash string `json:"pricesHash,omitempty"`

	Outcome Outcome `json:"outcome"`
	// Code is the HTTP status of a refusal.
	Code    int32    `json:"code,omitempty"`
	Reasons []Reason `json:"reasons,omitempty"`
	// Details are the findings in words.
	Details string `json:"details,omitempty"`
}

// Decide completes the record.
func (r Record) Decide(d Decision) Record {
	r.Outcome, r.Code = d.Outcome, d.Code
	var details []string
	for _, finding := range d.Findings {
		r.Reasons = append(r.Reasons, finding.Reason)
		details = append(details, finding.Text)
	}
	r.Details = strings.Join(details, "; ")
	return r
}

// Reason is the first of the reasons, or none.
func (r Record) Reason() Reason {
	if len(r.Reasons) == 0 {
		return ReasonNone
	}
	return r.Reasons[0]
}

// AuditAnnotations are what the API server's audit log keeps of the decision.
func (r Record) AuditAnnotations() map[string]string {
	text, err := json.Marshal(r)
	if err != nil {
		return nil // Strings and integers always encode.
	}
	return map[string]string{"decision": string(text)}
}
