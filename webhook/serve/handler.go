package serve

import (
	"net/http"

	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// Paths of the webhooks, as in manifests/base/webhook/configurations.yaml.
const (
	PathMutatePods     = "/mutate-pods"
	PathValidatePods   = "/validate-pods"
	PathEnforcePods    = "/enforce-pods"
	PathValidateConfig = "/validate-config"
)

// Handlers returns the handler of each path. They read at most 7 MiB of a request and
// turn a panic into an answer.
func Handlers(pods *Pods, configs *Configs) map[string]http.Handler {
	handlers := map[string]http.Handler{}
	for path, handle := range map[string]admission.HandlerFunc{
		PathMutatePods: pods.Mutate, PathValidatePods: pods.Validate, PathEnforcePods: pods.Enforce, PathValidateConfig: configs.Validate,
	} {
		handlers[path] = &admission.Webhook{Handler: handle}
	}
	return handlers
}
