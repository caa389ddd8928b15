package app

import (
	"context"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// Kinds of webhook configurations, as the metrics' label has them.
const (
	kindMutating   = "mutating"
	kindValidating = "validating"
)

// entry is one webhook of a configuration.
type entry struct {
	name   string
	config *admissionregistrationv1.WebhookClientConfig
}

// configuration reads and writes webhook configurations of one kind.
type configuration struct {
	kind string
	// get returns the webhooks and the resource version.
	get func(ctx context.Context, name string) ([]entry, string, error)
	// patch merges and returns the webhooks as they then are.
	patch func(ctx context.Context, name string, patch []byte) ([]entry, error)
}

// client is the typed client of one kind, T a pointer to it.
type client[T metav1.Object] interface {
	Get(ctx context.Context, name string, options metav1.GetOptions) (T, error)
	Patch(ctx context.Context, name string, how types.PatchType, patch []byte, options metav1.PatchOptions, subresources ...string) (T, error)
}

func configurationOf[T metav1.Object](kind string, c client[T], entries func(T) []entry) configuration {
	return configuration{
		kind: kind,
		get: func(ctx context.Context, name string) ([]entry, string, error) {
			object, err := c.Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return nil, "", err
			}
			return entries(object), object.GetResourceVersion(), nil
		},
		patch: func(ctx context.Context, name string, patch []byte) ([]entry, error) {
			object, err := c.Patch(ctx, name, types.StrategicMergePatchType, patch, metav1.PatchOptions{FieldManager: userAgent})
			if err != nil {
				return nil, err
			}
			return entries(object), nil
		},
	}
}

func mutatingConfiguration(cluster kubernetes.Interface) configuration {
	return configurationOf("MutatingWebhookConfiguration", cluster.AdmissionregistrationV1().MutatingWebhookConfigurations(),
		func(object *admissionregistrationv1.MutatingWebhookConfiguration) (entries []entry) {
			for i := range object.Webhooks {
				entries = append(entries, entry{object.Webhooks[i].Name, &object.Webhooks[i].ClientConfig})
			}
			return entries
		})
}

func validatingConfiguration(cluster kubernetes.Interface) configuration {
	return configurationOf("ValidatingWebhookConfiguration", cluster.AdmissionregistrationV1().ValidatingWebhookConfigurations(),
		func(object *admissionregistrationv1.ValidatingWebhookConfiguration) (entries []entry) {
			for i := range object.Webhooks {
				entries = append(entries, entry{object.Webhooks[i].Name, &object.Webhooks[i].ClientConfig})
			}
			return entries
		})
}
