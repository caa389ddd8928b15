package app

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	admissionv1 "k8s.io/api/admission/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	fakediscovery "k8s.io/client-go/discovery/fake"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	metadatafake "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"

	"wastenot.dev/api/v1alpha1"
	"wastenot.dev/webhook/serve"
)

// running is a service over a made-up cluster.
type running struct {
	client  *fake.Clientset
	service *service
	cancel  context.CancelFunc
	ended   chan error
	// taken makes the lease one that cannot be renewed.
	taken atomic.Bool
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	return address
}

// start runs the service with the shipped manifests and the given quota.yaml.
func start(t *testing.T, quotaText string, change ...func(*Options)) *running {
	t.Helper()
	mutating, validating := configurations(t)
	objects := []runtime.Object{mutating, validating}
	for _, file := range []string{"quota-config.yaml", "prices.yaml"} {
		for _, object := range manifest(t, file) {
			if config, ok := object.(*corev1.ConfigMap); ok && config.Name == v1alpha1.QuotaConfigMap && quotaText != "" {
				config.Data[v1alpha1.QuotaKey] = quotaText
			}
			objects = append(objects, object)
		}
	}
	objects = append(objects,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "research", Labels: map[string]string{v1alpha1.LabelMode: "enforce"}}},
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{corev1.LabelInstanceTypeStable: "p5.48xlarge", corev1.LabelTopologyRegion: "us-east-1"}},
			Status: corev1.NodeStatus{Capacity: corev1.ResourceList{"nvidia.com/gpu": *quantity(8)}}},
	)
	r := &running{client: fake.NewClientset(objects...), ended: make(chan error, 1)}
	r.client.PrependReactor("update", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
		return r.taken.Load(), nil, errors.New("no connection")
	})
	r.client.Discovery().(*fakediscovery.FakeDiscovery).Resources = []*metav1.APIResourceList{{GroupVersion: resourceapi.SchemeGroupVersion.String()}}
	options := NewOptions()
	options.WebhookAddress, options.HTTPAddress = freeAddress(t), freeAddress(t)
	options.LeaderElection = LeaderElection{LeaseDuration: 2 * time.Second, RenewDeadline: time.Second, RetryPeriod: 100 * time.Millisecond}
	for _, change := range change {
		change(options)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r.service = fakeService(ctx, t, options, r.client)
	r.cancel = cancel
	go func() { r.ended <- r.service.supervise(ctx, r.service.run) }()
	t.Cleanup(func() { r.stop(t) })
	return r
}

// fakeService is a service over clients of a made-up cluster.
func fakeService(ctx context.Context, t *testing.T, options *Options, client *fake.Clientset) *service {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return newService(ctx, options, client,
		dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{v1alpha1.QuotaLedgerResource: "QuotaLedgerList"}),
		metadatafake.NewSimpleMetadataClient(scheme))
}

func (r *running) stop(t *testing.T) {
	t.Helper()
	r.cancel()
	select {
	case err := <-r.ended:
		if err != nil {
			t.Errorf("the service ended with %v", err)
		}
		r.ended <- nil
	case <-time.After(20 * time.Second):
		t.Fatal("the service does not end")
	}
}

func get(t *testing.T, address string) (code int, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

// eventually waits for what must come.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(15 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if condition() {
			return
		}
	}
	t.Fatalf("%s did not come", what)
}

func (r *running) awaitReady(t *testing.T) {
	t.Helper()
	last := ""
	defer func() {
		if t.Failed() {
			t.Log("last answer:", last)
		}
	}()
	eventually(t, "readiness", func() bool {
		var code int
		code, last = get(t, "http://"+r.service.options.HTTPAddress+"/readyz")
		return code == http.StatusOK
	})
}

// caller calls the webhook as the API server does: by the Service's name, trusting
// caBundle, and by its certificate where it has one.
func (r *running) caller(t *testing.T, own *tls.Certificate) *http.Client {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(bundles(t, r.client)["enforce.pods.wastenot.dev"]))
	config := &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: roots, ServerName: r.service.options.host()}
	if own != nil {
		// It is sent whatever the server says of the CAs that it knows.
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return own, nil }
	}
	return &http.Client{Transport: &http.Transport{TLSClientConfig: config}}
}

// ask sends a request as the API server does: to the Service's name, trusting caBundle.
func (r *running) ask(t *testing.T, path string, request *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	t.Helper()
	client := r.caller(t, nil)
	defer client.CloseIdleConnections()
	body, err := json.Marshal(admissionv1.AdmissionReview{TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"}, Request: request})
	if err != nil {
		t.Fatal(err)
	}
	post, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+r.service.options.WebhookAddress+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	post.Header.Set("Content-Type", "application/json")
	response, err := client.Do(post)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	answer := admissionv1.AdmissionReview{}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	return answer.Response
}

func podRequest(t *testing.T) *admissionv1.AdmissionRequest {
	t.Helper()
	pod := podOf(requesting("nvidia.com/gpu"))
	pod.Name, pod.UID = "train", "uid"
	raw, err := json.Marshal(pod)
	if err != nil {
		t.Fatal(err)
	}
	return &admissionv1.AdmissionRequest{
		UID: "r", Kind: metav1.GroupVersionKind{Version: "v1", Kind: "Pod"}, Namespace: "research", Name: "train", Operation: admissionv1.Create, Object: runtime.RawExtension{Raw: raw},
	}
}

func TestRunServesAdmission(t *testing.T) {
	r := start(t, "")
	r.awaitReady(t)

	mutated := r.ask(t, serve.PathMutatePods, podRequest(t))
	if !mutated.Allowed || !strings.Contains(string(mutated.Patch), `"cost.wastenot.dev~1currency","value":"USD"`) && !strings.Contains(string(mutated.Patch), `/metadata/annotations/cost.wastenot.dev~1currency`) {
		t.Errorf("answered %+v with patch %s", mutated.Result, mutated.Patch)
	}
	refused := r.ask(t, serve.PathEnforcePods, podRequest(t))
	if refused.Allowed || refused.Result.Code != http.StatusForbidden || !strings.Contains(refused.Result.Message, "namespace research has no team") {
		t.Errorf("answered %+v", refused.Result)
	}
	eventually(t, "an Event on the namespace", func() bool {
		list, err := r.client.EventsV1().Events(metav1.NamespaceAll).List(t.Context(), metav1.ListOptions{})
		return err == nil && len(list.Items) > 0 && describes(list.Items[0], v1alpha1.EventOwnerMissing, "research")
	})
	eventually(t, "the lead", func() bool {
		lease, err := r.client.CoordinationV1().Leases("wastenot-system").Get(t.Context(), "wastenot-webhook", metav1.GetOptions{})
		return err == nil && held(lease) && r.service.leading.Load()
	})
	odd := podRequest(t)
	odd.Kind.Kind = "Deployment"
	if response := r.ask(t, serve.PathValidatePods, odd); !response.Allowed {
		t.Errorf("answered %+v", response.Result)
	}
	_, metrics := get(t, "http://"+r.service.options.HTTPAddress+"/metrics")
	for _, want := range []string{
		`wastenot_webhook_decisions_total{mode="enforce",operation="Create",outcome="refused",reason="TeamMissing"} 1`,
		`wastenot_webhook_decisions_total{mode="enforce",operation="Mutate",outcome="admitted",reason=""} 1`,
		`wastenot_webhook_config_error{config="quota"} 0`, `wastenot_webhook_leader 1`, `wastenot_webhook_trusted 1`,
		// As ledgers, decisions and prices bear them.
		`wastenot_webhook_config_hash_info{config="quota",hash="` + r.service.quota.Current().Hash() + `"} 1`,
		`wastenot_webhook_config_hash_info{config="prices",hash="` + r.service.prices.Current().Hash() + `"} 1`,
		`wastenot_webhook_unjudged_total{cause="unreadable",path="/validate-pods"} 1`,
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("metrics lack %s", want)
		}
	}
	if problems, err := testutil.GatherAndLint(r.service.registry); err != nil || len(problems) > 0 {
		t.Errorf("metrics: %v, %v", problems, err)
	}
}

func describes(event eventsv1.Event, reason, namespace string) bool {
	return event.Reason == reason && event.Regarding.Kind == "Namespace" && event.Regarding.Name == namespace && event.Note != "" &&
		event.Related != nil && event.Related.Kind == "Pod" && event.Related.Name != ""
}

func held(lease *coordinationv1.Lease) bool {
	return lease.Spec.HolderIdentity != nil && *lease.Spec.HolderIdentity != ""
}

func TestRunGivesTheLeadBackAtTheEnd(t *testing.T) {
	r := start(t, "")
	r.awaitReady(t)
	eventually(t, "the lead", r.service.leading.Load)
	r.stop(t)
	lease, err := r.client.CoordinationV1().Leases("wastenot-system").Get(t.Context(), "wastenot-webhook", metav1.GetOptions{})
	if err != nil || held(lease) {
		t.Errorf("lease %v, error %v", lease, err)
	}
}

// TestLosingTheLeadEndsOnlyTheLead: the lease cannot be renewed for a while.
func TestLosingTheLeadEndsOnlyTheLead(t *testing.T) {
	r := start(t, "")
	r.awaitReady(t)
	eventually(t, "the lead", r.service.leading.Load)
	r.taken.Store(true)
	eventually(t, "the end of the lead", func() bool { return !r.service.leading.Load() })
	if response := r.ask(t, serve.PathEnforcePods, podRequest(t)); response.Allowed || response.Result.Code != http.StatusForbidden {
		t.Errorf("answered %+v", response.Result)
	}
	r.awaitReady(t)
	r.taken.Store(false)
	eventually(t, "the next lead", r.service.leading.Load)
}

func TestRunIsNotReadyWithoutAnyGoodQuota(t *testing.T) {
	r := start(t, "teams: [{nam: x}]")
	eventually(t, "the reason", func() bool {
		code, text := get(t, "http://"+r.service.options.HTTPAddress+"/readyz")
		return code == http.StatusServiceUnavailable && strings.Contains(text, "there is no quota configuration to go by") && strings.Contains(text, "nam")
	})
	eventually(t, "an Event on the ConfigMap", func() bool {
		list, err := r.client.EventsV1().Events(metav1.NamespaceAll).List(t.Context(), metav1.ListOptions{})
		return err == nil && len(list.Items) > 0 && list.Items[0].Reason == v1alpha1.EventConfigRejected && list.Items[0].Regarding.Name == v1alpha1.QuotaConfigMap
	})
	if code, _ := get(t, "http://"+r.service.options.HTTPAddress+"/livez"); code != http.StatusOK {
		t.Errorf("livez answers %d", code)
	}
}

// TestRequestsAreFinishedAtTheEnd: one that has arrived is answered after the end began.
func TestRequestsAreFinishedAtTheEnd(t *testing.T) {
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	arrived, finish := make(chan struct{}), make(chan struct{})
	server := &http.Server{ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(arrived)
		<-finish
		fmt.Fprint(w, "done")
	})}
	go func() { _ = server.Serve(listener) }() // It ends with the server.
	answer := make(chan string, 1)
	go func() {
		_, text := get(t, "http://"+listener.Addr().String())
		answer <- text
	}()
	<-arrived
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ended := make(chan error, 1)
	go func() { ended <- shutdown(ctx, server) }()
	select {
	case err := <-ended:
		t.Fatalf("the server ended while a request was open: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	close(finish)
	if got := <-answer; got != "done" {
		t.Errorf("answered %q", got)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
