package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"

	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"wastenot.dev/webhook/decide"
)

// Paths of the webhooks, as in manifests/base/webhook/configurations.yaml.
const (
	PathMutatePods     = "/mutate-pods"
	PathValidatePods   = "/validate-pods"
	PathEnforcePods    = "/enforce-pods"
	PathValidateConfig = "/validate-config"
)

// Causes of a request that was not judged.
const (
	// CausePanic: a fault of ours.
	CausePanic = "panic"
	// CauseUnreadable: the request is none that an API server with our configuration sends.
	CauseUnreadable = "unreadable"
)

// Unjudged takes note of a request that was answered without being judged.
type Unjudged func(path, cause string)

// Handlers returns the handler of each path. They read at most 7 MiB of a request. What
// they cannot judge, because it cannot be read or because of a fault of ours, they refuse
// on the path for namespaces that enforce alone. A body that holds no review is answered
// without its uid, which the API server takes for no answer.
func Handlers(pods *Pods, configs *Configs, unjudged Unjudged) map[string]http.Handler {
	handlers := map[string]http.Handler{}
	for path, handle := range map[string]admission.HandlerFunc{
		PathMutatePods: pods.Mutate, PathValidatePods: pods.Validate, PathEnforcePods: pods.Enforce, PathValidateConfig: configs.Validate,
	} {
		handlers[path] = &admission.Webhook{Handler: guard(path, handle, unjudged)}
	}
	return handlers
}

var errFault = errors.New("the webhook failed on this request; its log says why")

// guard answers for a handler that panics or cannot read the request.
func guard(path string, handle admission.HandlerFunc, unjudged Unjudged) admission.HandlerFunc {
	return func(ctx context.Context, req admission.Request) (response admission.Response) {
		logger := klog.FromContext(ctx).WithValues("path", path)
		defer func() {
			if fault := recover(); fault != nil {
				logger.Error(fmt.Errorf("panic: %v", fault), "Answering a request", "stack", string(debug.Stack()))
				unjudged(path, CausePanic)
				response = pass(path, admission.Errored(http.StatusInternalServerError, errFault))
			}
		}()
		response = handle(ctx, req)
		if !response.Allowed && response.Result.Code == http.StatusBadRequest {
			logger.V(2).Info("A request cannot be read", "reason", response.Result.Message)
			unjudged(path, CauseUnreadable)
			return pass(path, response)
		}
		return response
	}
}

// pass lets go by what was not judged, except where everything must be.
func pass(path string, refusal admission.Response) admission.Response {
	if path == PathEnforcePods {
		return refusal
	}
	return admission.Allowed("").WithWarnings(decide.Warning("the request passes unjudged: " + refusal.Result.Message))
}
