package serve

import (
	"context"
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/quota"
	"wastenot.dev/webhook/decide"
)

// Validate judges pods of namespaces that do not enforce. What cannot be judged passes.
func (p *Pods) Validate(ctx context.Context, req admission.Request) admission.Response {
	return p.validate(ctx, req, false)
}

// Enforce judges pods of namespaces that enforce. What cannot be judged is refused.
func (p *Pods) Enforce(ctx context.Context, req admission.Request) admission.Response {
	return p.validate(ctx, req, true)
}

func (p *Pods) validate(ctx context.Context, req admission.Request, enforced bool) admission.Response {
	operation := OperationCreate
	if req.Operation == admissionv1.Update {
		operation = OperationUpdate
	}
	r, err := p.read(req, operation)
	if err != nil {
		return malformed(err)
	}
	ctx, cancel := context.WithTimeout(ctx, validateTimeout)
	defer cancel()
	// A status is judged like the pod: its labels can be changed by either.
	if (req.Operation != admissionv1.Create && req.Operation != admissionv1.Update) || (req.SubResource != "" && req.SubResource != "status") {
		return p.answer(ctx, r, decide.Decision{Outcome: decide.OutcomeIgnored})
	}
	if p.Exempt.Exempt(req.UserInfo.Username, req.UserInfo.Groups) {
		return p.answer(ctx, r, decide.Decision{Outcome: decide.OutcomeExempt})
	}
	if p.ask(ctx, r); !r.accelerated() {
		return p.answer(ctx, r, decide.Decision{Outcome: decide.OutcomeIgnored})
	}
	if r.namespace, err = p.Objects.Namespace(ctx, req.Namespace); err != nil {
		return p.answer(ctx, r, decide.Unreadable(enforced, err))
	}
	if operation == OperationUpdate {
		return p.update(ctx, r, enforced)
	}
	return p.create(ctx, r, enforced)
}

// mode is what the API server's choice of path says, where that is enforce: it may know of
// a label that the cache does not have yet. Else the namespace says.
func (r *request) mode(enforced bool) (mode v1alpha1.Mode, warning string) {
	if enforced {
		return v1alpha1.ModeEnforce, ""
	}
	return decide.ModeOf(r.namespace)
}

func (p *Pods) create(ctx context.Context, r *request, enforced bool) admission.Response {
	c := decide.Create{
		Pod: r.pod, Namespace: r.Namespace, Owner: p.owner(r), Served: p.Served,
		DemandErr: r.demandErr, DemandTransient: transient(r.demandErr),
	}
	c.Mode, c.ModeWarning = r.mode(enforced)
	r.record.Mode = c.Mode
	c.Price = decide.PriceOf(p.price(ctx, r))
	r.record.Price = c.Price.String()
	// What another team's pods hold is none of this pod's business, nor is it counted
	// where nobody knows the team.
	if c.AskQuota() {
		c.Verdict, c.QuotaErr = p.quota(ctx, r, c)
	} else {
		c.Verdict = quota.Verdict{Outcome: quota.Fits}
	}
	return p.answer(ctx, r, c.Judge())
}

// quota asks the ledger. A dry run takes no room. Neither does a pod that waits, or that
// nothing would keep out: it takes some when it is bound.
func (p *Pods) quota(ctx context.Context, r *request, c decide.Create) (quota.Verdict, error) {
	want := quota.Want{UID: r.pod.UID, Namespace: r.Namespace, Name: r.record.Name, Demand: r.record.Demand}
	if r.record.DryRun || c.Waits() || c.Mode != v1alpha1.ModeEnforce {
		return p.Ledgers.Check(ctx, c.Owner.Team, want)
	}
	return p.Ledgers.Reserve(ctx, c.Owner.Team, want)
}

func (p *Pods) update(ctx context.Context, r *request, enforced bool) admission.Response {
	old, err := decodePod(r.OldObject.Raw)
	if err != nil {
		return malformed(fmt.Errorf("the old object: %w", err))
	}
	u := decide.Update{Old: old, New: r.pod, Namespace: r.Namespace}
	u.Mode, u.ModeWarning = r.mode(enforced)
	r.record.Mode, r.record.Team = u.Mode, old.Labels[v1alpha1.LabelTeam]
	return p.answer(ctx, r, u.Judge())
}
