package app

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
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
	undo(t, client)
	tr.look(t.Context())
	if err := tr.check(); err != nil {
		t.Error(err)
	}
}

// undo takes caBundle away.
func undo(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	mutating, validating := configurations(t)
	registration := client.AdmissionregistrationV1()
	if _, err := registration.MutatingWebhookConfigurations().Update(t.Context(), mutating, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := registration.ValidatingWebhookConfigurations().Update(t.Context(), validating, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// failing has the API server fail what is asked of it, for as long as it is told to.
func failing(client *fake.Clientset, verb, resource string, err error) (end func()) {
	failing := true
	client.PrependReactor(verb, resource, func(clienttesting.Action) (bool, runtime.Object, error) { return failing, nil, err })
	return func() { failing = false }
}

var errDown = apierrors.NewInternalError(errors.New("no leader"))

// TestTroubleKeepsTheLastVerdict: trouble with the API server at one look at one
// look does not take all replicas away at once.
func TestTroubleKeepsTheLastVerdict(t *testing.T) {
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "mutatingwebhookconfigurations"}, "wastenot-webhook", errors.New("changed"))
	tests := map[string]struct {
		verb, resource string
		err            error
		// undone has somebody take caBundle away, so that it is written.
		undone bool
	}{
		"mutating is not read":    {verb: "get", resource: "mutatingwebhookconfigurations", err: errDown},
		"validating is not read":  {verb: "get", resource: "validatingwebhookconfigurations", err: errDown},
		"the CA is not read":      {verb: "get", resource: "configmaps", err: errDown},
		"no connection":           {verb: "*", resource: "*", err: errors.New("connection refused")},
		"mutating is not written": {verb: "patch", resource: "mutatingwebhookconfigurations", err: errDown, undone: true},
		"another was first":       {verb: "patch", resource: "validatingwebhookconfigurations", err: conflict, undone: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			tr, _, client := trusting(t)
			end := failing(client, test.verb, test.resource, test.err)
			tr.look(t.Context())
			if err := tr.check(); err == nil {
				t.Errorf("before anything was seen check says %v", err)
			}
			end()
			tr.look(t.Context())
			if err := tr.check(); err != nil || tr.last().fault != "" {
				t.Fatalf("check says %v, fault %q", err, tr.last().fault)
			}
			if test.undone {
				undo(t, client)
			}
			end = failing(client, test.verb, test.resource, test.err)
			for range 2 {
				tr.look(t.Context())
				if err := tr.check(); err != nil {
					t.Errorf("trouble makes the replica unready: %v", err)
				}
				if !strings.Contains(tr.last().fault, test.err.Error()) {
					t.Errorf("fault %q lacks %q", tr.last().fault, test.err)
				}
			}
			tr.look(t.Context())
			// A caBundle that nobody can mend is the truth in the end.
			if err := tr.check(); (err != nil) != test.undone {
				t.Errorf("at last check says %v", err)
			}
			end()
			tr.look(t.Context())
			if err := tr.check(); err != nil || tr.last().fault != "" {
				t.Errorf("afterwards check says %v, fault %q", err, tr.last().fault)
			}
		})
	}
}

// TestWhoTakesUsOutKeepsUsReady: enforce refuses everything only when somebody who is to
// be asked does not answer.
func TestWhoTakesUsOutKeepsUsReady(t *testing.T) {
	for _, seen := range []bool{false, true} {
		for name, change := range map[string]func(*testing.T, *trust, *fake.Clientset){
			"mutating": func(t *testing.T, _ *trust, client *fake.Clientset) {
				remove(t, client.AdmissionregistrationV1().MutatingWebhookConfigurations())
			},
			"validating": func(t *testing.T, _ *trust, client *fake.Clientset) {
				remove(t, client.AdmissionregistrationV1().ValidatingWebhookConfigurations())
			},
			"mutating validating": func(_ *testing.T, tr *trust, _ *fake.Clientset) { tr.options.Namespace, tr.writes = "elsewhere", false },
		} {
			t.Run(fmt.Sprintf("%s, seen before: %v", name, seen), func(t *testing.T) {
				tr, _, client := trusting(t)
				if seen {
					tr.look(t.Context())
				}
				change(t, tr, client)
				tr.look(t.Context())
				if err := tr.check(); err != nil {
					t.Errorf("check says %v", err)
				}
				if got := strings.Join(tr.last().missing(), " "); got != name {
					t.Errorf("missing %q, want %q", got, name)
				}
			})
		}
	}
}

func remove(t *testing.T, client interface {
	Delete(context.Context, string, metav1.DeleteOptions) error
}) {
	t.Helper()
	if err := client.Delete(t.Context(), "wastenot-webhook", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

func TestTrustAsMetrics(t *testing.T) {
	tr, _, client := trusting(t)
	tr.look(t.Context())
	remove(t, client.AdmissionregistrationV1().MutatingWebhookConfigurations())
	failing(client, "get", "validatingwebhookconfigurations", errDown)
	tr.look(t.Context())
	const want = `
# HELP wastenot_webhook_configuration_missing 1 while the webhook configuration is not there or has no webhook of ours, so that the API server does not ask.
# TYPE wastenot_webhook_configuration_missing gauge
wastenot_webhook_configuration_missing{kind="mutating"} 1
wastenot_webhook_configuration_missing{kind="validating"} 0
# HELP wastenot_webhook_trust_error 1 while the webhook configurations cannot be read or written; what was found before holds.
# TYPE wastenot_webhook_trust_error gauge
wastenot_webhook_trust_error 1
# HELP wastenot_webhook_trusted 1 while the certificate that is served verifies against the webhook configurations.
# TYPE wastenot_webhook_trusted gauge
wastenot_webhook_trusted 1
`
	s := fakeService(t.Context(), t, NewOptions(), client)
	s.trust = tr
	if err := testutil.GatherAndCompare(s.registry, strings.NewReader(want), "wastenot_webhook_configuration_missing", "wastenot_webhook_trust_error", "wastenot_webhook_trusted"); err != nil {
		t.Error(err)
	}
}

func TestTrustIsDeniedForWhatTheAPIServerWouldRefuse(t *testing.T) {
	tests := map[string]struct {
		change func(t *testing.T, tr *trust, client *fake.Clientset)
		want   string
	}{
		"somebody else writes it and has not": {change: func(_ *testing.T, tr *trust, _ *fake.Clientset) { tr.writes = false }, want: "caBundle holds no certificate"},
		"another CA": {
			change: func(t *testing.T, tr *trust, client *fake.Clientset) {
				other, _, _ := trusting(t)
				tr.serves = other.serves
			},
			want: "does not verify",
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
			tr.look(t.Context())
			if err := tr.check(); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("check says %v, want %q", err, test.want)
			}
		})
	}
}
