package serve

import (
	"context"
	"encoding/json"
	"net/http"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"wastenot.dev/webhook/decide"
)

// Mutate stamps new accelerator pods. It refuses none: where it cannot find out what to
// stamp, the pod passes as it is, and validation judges it.
func (p *Pods) Mutate(ctx context.Context, req admission.Request) admission.Response {
	r, err := p.read(req, OperationMutate)
	if err != nil {
		return malformed(err)
	}
	ctx, cancel := context.WithTimeout(ctx, mutateTimeout)
	defer cancel()
	if req.Operation != admissionv1.Create || req.SubResource != "" {
		return p.answer(ctx, r, decide.Decision{Outcome: decide.OutcomeIgnored})
	}
	if p.Exempt.Exempt(req.UserInfo.Username, req.UserInfo.Groups) {
		return p.answer(ctx, r, decide.Decision{Outcome: decide.OutcomeExempt})
	}
	if p.ask(ctx, r); !r.accelerated() {
		return p.answer(ctx, r, decide.Decision{Outcome: decide.OutcomeIgnored})
	}
	if r.namespace, err = p.Objects.Namespace(ctx, req.Namespace); err != nil {
		return p.answer(ctx, r, decide.Unreadable(false, err))
	}
	return p.stamp(ctx, r)
}

func (p *Pods) stamp(ctx context.Context, r *request) admission.Response {
	owner := p.owner(r)
	r.record.Mode, _ = decide.ModeOf(r.namespace)
	cost, where := p.price(ctx, r)
	r.record.Price = decide.PriceOf(cost, where).String()
	stamp := decide.Stamp{Namespace: r.Namespace, Owner: owner, Cost: cost, Scheduler: p.Scheduler}
	operations, warnings := stamp.Patch(r.pod)
	response := p.answer(ctx, r, decide.Decision{Outcome: decide.OutcomeAdmitted, Warnings: warnings})
	if len(operations) == 0 {
		return response
	}
	patch, err := json.Marshal(operations)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err) // Strings always encode.
	}
	response.Patch, response.PatchType = patch, ptr.To(admissionv1.PatchTypeJSONPatch)
	return response
}

// price estimates the pod. Of a demand that is known in part only, no price is known.
func (p *Pods) price(ctx context.Context, r *request) (annotations map[string]string, where string) {
	demand := r.demand
	if r.demandErr != nil {
		demand = nil
	}
	return p.Prices.Estimate(ctx, r.pod, demand)
}
