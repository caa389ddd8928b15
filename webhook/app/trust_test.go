package app

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/utils/clock"

	"wastenot.dev/internal/servingcert"
)

// trusting returns a trust whose certificate the keeper made, over the shipped
// configurations.
func trusting(t *testing.T) (*trust, *servingcert.Keeper, *fake.Clientset) {
	t.Helper()
	mutating, validating := configurations(t)
	client := fake.NewClientset(mutating, validating)
	options := NewOptions()
	keeper := &servingcert.Keeper{Client: client, Namespace: options.Namespace, Name: options.ServiceName, DNSNames: []string{options.host()}, Clock: clock.RealClock{}}
	if err := keeper.Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	return &trust{client: client, options: options, clock: clock.RealClock{}, serves: keeper.GetCertificate, writes: true}, keeper, client
}

// bundles are the caBundles of all webhooks, by name.
func bundles(t *testing.T, client kubernetes.Interface) map[string]string {
	t.Helper()
	registration := client.AdmissionregistrationV1()
	mutating, err := registration.MutatingWebhookConfigurations().Get(context.Background(), "wastenot-webhook", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	validating, err := registration.ValidatingWebhookConfigurations().Get(context.Background(), "wastenot-webhook", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, w := range mutating.Webhooks {
		out[w.Name] = string(w.ClientConfig.CABundle)
		if len(w.MatchConditions) == 0 || *w.ClientConfig.Service.Path == "" {
			t.Errorf("%s lost what it had", w.Name)
		}
	}
	for _, w := range validating.Webhooks {
		out[w.Name] = string(w.ClientConfig.CABundle)
		if len(w.MatchConditions) == 0 || *w.ClientConfig.Service.Path == "" {
			t.Errorf("%s lost what it had", w.Name)
		}
	}
	return out
}

func TestTrustIsWrittenAndVerified(t *testing.T) {
	tr, _, client := trusting(t)
	if err := tr.check(); err == nil {
		t.Error("trusted before the first look")
	}
	tr.look(t.Context())
	if err := tr.check(); err != nil {
		t.Fatal(err)
	}
	config, err := client.CoreV1().ConfigMaps("wastenot-system").Get(t.Context(), "wastenot-webhook-ca", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got := bundles(t, client)
	if len(got) != 4 {
		t.Errorf("webhooks %v, want 4", got)
	}
	for name, bundle := range got {
		if bundle != config.Data["ca.crt"] {
			t.Errorf("%s has caBundle %q", name, bundle)
		}
	}
}

func TestTrustComesBackAfterSomebodyUndoesIt(t *testing.T) {
	tr, _, client := trusting(t)
	tr.look(t.Context())
	mutating, validating := configurations(t)
	registration := client.AdmissionregistrationV1()
	if _, err := registration.MutatingWebhookConfigurations().Update(t.Context(), mutating, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := registration.ValidatingWebhookConfigurations().Update(t.Context(), validating, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	tr.look(t.Context())
	if err := tr.check(); err != nil {
		t.Error(err)
	}
}

func TestTrustIsDeniedForWhatTheAPIServerWouldRefuse(t *testing.T) {
	tests := map[string]struct {
		change func(t *testing.T, tr *trust, client *fake.Clientset)
		want   string
	}{
		"somebody else writes it and has not": {change: func(_ *testing.T, tr *trust, _ *fake.Clientset) { tr.writes = false }, want: "caBundle holds no certificate"},
		"another name": {
			change: func(_ *testing.T, tr *trust, _ *fake.Clientset) { tr.options.Namespace = "elsewhere" },
			want:   "has no webhook of service",
		},
		"another CA": {
			change: func(t *testing.T, tr *trust, client *fake.Clientset) {
				other, _, _ := trusting(t)
				tr.serves = other.serves
			},
			want: "does not verify",
		},
		"no configuration": {
			change: func(t *testing.T, tr *trust, client *fake.Clientset) {
				if err := client.AdmissionregistrationV1().MutatingWebhookConfigurations().Delete(t.Context(), "wastenot-webhook", metav1.DeleteOptions{}); err != nil {
					t.Fatal(err)
				}
			},
			want: "reading MutatingWebhookConfiguration wastenot-webhook",
		},
		"a bundle that is empty": {
			change: func(t *testing.T, tr *trust, client *fake.Clientset) {
				if _, err := client.CoreV1().ConfigMaps("wastenot-system").Update(t.Context(), &corev1.ConfigMap{
					ObjectMeta: metav1.ObjectMeta{Namespace: "wastenot-system", Name: "wastenot-webhook-ca"},
				}, metav1.UpdateOptions{}); err != nil {
					t.Fatal(err)
				}
			},
			want: "caBundle holds no certificate",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			tr, _, client := trusting(t)
			test.change(t, tr, client)
			if name == "another name" {
				tr.writes = false
			}
			tr.look(t.Context())
			if err := tr.check(); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("check says %v, want %q", err, test.want)
			}
		})
	}
}
