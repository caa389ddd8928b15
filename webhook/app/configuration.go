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

func mutatingConfiguration(cluster kubernetes.Interface) configuration {
	client := cluster.AdmissionregistrationV1().MutatingWebhookConfigurations()
	entries := func(object *admissionregistrationv1.MutatingWebhookConfiguration) []entry {
		var entries []entry
		for i := range object.Webhooks {
			entries = append(entries, entry{object.Webhooks[i].Name, &object.Webhooks[i].ClientConfig})
		}
		return entries
	}
	return configuration{
		kind: "MutatingWebhookConfiguration",
		get: func(ctx context.Context, name string) ([]entry, string, error) {
			object, err := client.Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return nil, "", err
			}
			return entries(object), object.ResourceVersion, nil
		},
		patch: func(ctx context.Context, name string, patch []byte) ([]entry, error) {
			object, err := client.Patch(ctx, name, types.StrategicMergePatchType, patch, metav1.PatchOptions{FieldManager: userAgent})
			if err != nil {
				return nil, err
			}
			return entries(object), nil
		},
	}
}

func validatingConfiguration(cluster kubernetes.Interface) configuration {
	client := cluster.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	entries := func(object *admissionregistrationv1.ValidatingWebhookConfiguration) []entry {
		var entries []entry
		for i := range object.Webhooks {
			entries = append(entries, entry{object.Webhooks[i].Name, &object.Webhooks[i].ClientConfig})
		}
		return entries
	}
	return configuration{
		kind: "ValidatingWebhookConfiguration",
		get: func(ctx context.Context, name string) ([]entry, string, error) {
			object, err := client.Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return nil, "", err
			}
			return entries(object), object.ResourceVersion, nil
		},
		patch: func(ctx context.Context, name string, patch []byte) ([]entry, error) {
			object, err := client.Patch(ctx, name, types.StrategicMergePatchType, patch, metav1.PatchOptions{FieldManager: userAgent})
			if err != nil {
				return nil, err
			}
			return entries(object), nil
		},
	}
}
