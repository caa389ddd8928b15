package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"wastenot.dev/internal/accelerator"
	"wastenot.dev/quota"
	"wastenot.dev/webhook/decide"
)

const (
	// mutateTimeout and validateTimeout end the work before the API server stops waiting,
	// which is after 2 s and 5 s (see manifests/base/webhook/configurations.yaml).
	mutateTimeout   = 1500 * time.Millisecond
	validateTimeout = 4 * time.Second
)

// Operations of decision records.
const (
	OperationMutate = "Mutate"
	OperationCreate = "Create"
	OperationUpdate = "Update"
)

// Objects finds what a request refers to.
type Objects interface {
	Namespace(ctx context.Context, name string) (*corev1.Namespace, error)
	// Claims finds claims, templates and DeviceClasses for as long as ctx lasts.
	Claims(ctx context.Context) accelerator.Objects
}

// Ledgers says whether a pod fits its team's quota. Reserve also takes the room; Check
// takes none, but may bring the ledger's count up to date before it says no, as the
// leader does by itself.
type Ledgers interface {
	Reserve(ctx context.Context, team string, want quota.Want) (quota.Verdict, error)
	Check(ctx context.Context, team string, want quota.Want) (quota.Verdict, error)
}

// Prices estimates what pods cost.
type Prices interface {
	// Estimate returns the annotations of the price of an hour, and what was priced in a
	// word. The demand may be empty: then nothing is known.
	Estimate(ctx context.Context, pod *corev1.Pod, demand []accelerator.Demand) (annotations map[string]string, where string)
	// Hash identifies the price book.
	Hash() string
}

// Report takes note of a decision. The namespace is nil where it was not read.
type Report func(ctx context.Context, record decide.Record, namespace *corev1.Namespace, took time.Duration)

// Pods answers for pods.
type Pods struct {
	Objects Objects
	// Config returns the quota configuration in force.
	Config  func() *quota.Config
	Ledgers Ledgers
	Prices  Prices
	Exempt  decide.Exemptions
	// Scheduler is stamped on pods that name none; empty leaves them.
	Scheduler string
	// Served are the schedulers that hold pods of teams that queue. A pod that another
	// places is judged like one of a team that does not.
	Served []string
	Report Report
	Clock  clock.PassiveClock
}

// request is one admission request for a pod, decoded.
type request struct {
	admission.Request
	pod       *corev1.Pod
	namespace *corev1.Namespace
	demand    []accelerator.Demand
	demandErr error
	record    decide.Record
	began     time.Time
}

var errNoPod = errors.New("the request holds no Pod; this path is for pods alone")

// read decodes a request. Its errors are the caller's fault.
func (p *Pods) read(req admission.Request, operation string) (*request, error) {
	if req.Kind.Group != "" || req.Kind.Kind != "Pod" {
		return nil, fmt.Errorf("%w: got %q", errNoPod, req.Kind.Kind)
	}
	pod, err := decodePod(req.Object.Raw)
	if err != nil {
		return nil, err
	}
	// In the mutating phase pods of controllers have no namespace and no name yet.
	pod.Namespace = req.Namespace
	name := pod.Name
	if name == "" {
		name = pod.GenerateName
	}
	return &request{
		Request: req, pod: pod, began: p.Clock.Now(),
		record: decide.Record{
			Operation: operation, DryRun: isDryRun(req), User: req.UserInfo.Username,
			Namespace: req.Namespace, Name: name, UID: string(pod.UID),
		},
	}, nil
}

// decodePod is lenient: API servers may be newer than this binary.
func decodePod(raw []byte) (*corev1.Pod, error) {
	if len(raw) == 0 {
		return nil, errNoPod
	}
	pod := &corev1.Pod{}
	if err := json.Unmarshal(raw, pod); err != nil {
		return nil, fmt.Errorf("decoding the pod: %w", err)
	}
	return pod, nil
}

func isDryRun(req admission.Request) bool { return req.DryRun != nil && *req.DryRun }

func (r *request) accelerated() bool { return len(r.demand) > 0 || r.demandErr != nil }

// transient tells whether an error may go by itself: of several that are joined, each.
// What does not exist is made by somebody; what an amount says stays.
func transient(err error) bool {
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		return !slices.ContainsFunc(joined.Unwrap(), func(err error) bool { return !transient(err) })
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return !apierrors.IsNotFound(err)
	}
	var network net.Error
	return errors.As(err, &network) || errors.Is(err, context.DeadlineExceeded)
}

// owner finds out whose pod it is and completes the record.
func (p *Pods) owner(r *request) decide.Owner {
	owner := decide.OwnerOf(r.namespace, r.pod, p.Config())
	r.record.Team, r.record.Owner, r.record.Policy = owner.Team, owner.Owner, owner.Policy
	r.record.QuotaHash, r.record.PricesHash = p.Config().Hash(), p.Prices.Hash()
	return owner
}

// answer reports a decision and makes a response of it.
func (p *Pods) answer(ctx context.Context, r *request, d decide.Decision) admission.Response {
	record := r.record.Decide(d)
	p.Report(ctx, record, r.namespace, p.Clock.Since(r.began))
	response := respond(d, r.pod)
	if d.Outcome != decide.OutcomeIgnored {
		response.AuditAnnotations = record.AuditAnnotations()
	}
	return response
}

// retryAfterSeconds is when a pod that only others' reservations keep out is tried
// again. Clients of the API server wait that long by themselves, many times over, within
// one call.
const retryAfterSeconds = 2

func respond(d decide.Decision, pod *corev1.Pod) admission.Response {
	response := admission.Response{AdmissionResponse: admissionv1.AdmissionResponse{Allowed: d.Allowed(), Warnings: d.Warnings}}
	if d.Allowed() {
		return response
	}
	response.Result = &metav1.Status{Status: metav1.StatusFailure, Code: d.Code, Message: d.Message, Reason: metav1.StatusReasonForbidden}
	if d.Code == http.StatusTooManyRequests {
		response.Result.Reason = metav1.StatusReasonTooManyRequests
		// A controller backs off object by object. Its few workers must not wait in a call:
		// pods of all teams are made by them.
		if metav1.GetControllerOf(pod) == nil {
			response.Result.Details = &metav1.StatusDetails{RetryAfterSeconds: retryAfterSeconds}
		}
	}
	return response
}

// malformed answers a request that no API server with our configuration sends.
func malformed(err error) admission.Response { return admission.Errored(http.StatusBadRequest, err) }
