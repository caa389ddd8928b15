package app

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"

	"wastenot.dev/internal/servingcert"
)

const (
	// trustInterval is how often the webhook configurations are looked at.
	trustInterval = 10 * time.Second
	// keyBundle is the key of the CA's bundle in the ConfigMap that servingcert keeps.
	keyBundle = "ca.crt"
)

// trust keeps the API server's trust in the certificate that is served: it writes the
// CA's bundle into the webhook configurations, unless somebody else does, and says
// whether what is served verifies against what they hold.
type trust struct {
	client  kubernetes.Interface
	options *Options
	clock   clock.WithTicker
	// serves is what the TLS listener serves, and writes tells whether caBundle is ours to
	// write.
	serves func(*tls.ClientHelloInfo) (*tls.Certificate, error)
	writes bool

	problem atomic.Pointer[string]
}

// startTrust loads the certificate and begins to keep it trusted.
func (s *service) startTrust(ctx context.Context) error {
	if err := s.loadCertificate(ctx); err != nil {
		return err
	}
	s.background("trust keeper", func() error { s.trust.run(ctx); return nil })
	return nil
}

// loadCertificate finds what serves the certificate: the given files, or our own.
func (s *service) loadCertificate(ctx context.Context) error {
	if s.options.TLSCertFile != "" {
		watcher, err := certwatcher.New(s.options.TLSCertFile, s.options.TLSKeyFile)
		if err != nil {
			return fmt.Errorf("reading the serving certificate: %w", err)
		}
		s.background("certificate watcher", func() error { return watcher.Start(ctx) })
		s.trust.serves = watcher.GetCertificate
		return nil
	}
	keeper := &servingcert.Keeper{
		Client: s.client, Namespace: s.options.Namespace, Name: s.options.ServiceName, Clock: s.clock,
		DNSNames: []string{s.options.host(), s.options.host() + ".cluster.local"},
	}
	if err := keeper.Ensure(ctx); err != nil {
		return err
	}
	s.background("certificate keeper", func() error { keeper.Run(ctx); return nil })
	s.trust.serves, s.trust.writes = keeper.GetCertificate, true
	return nil
}

// run looks until ctx ends.
func (t *trust) run(ctx context.Context) {
	ticker := t.clock.NewTicker(trustInterval)
	defer ticker.Stop()
	for {
		t.look(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
		}
	}
}

// look brings the configurations in line and notes whether all is well.
func (t *trust) look(ctx context.Context) {
	err := t.keep(ctx)
	if ctx.Err() != nil {
		return
	}
	text := ""
	if err != nil {
		text = err.Error()
	}
	if old := t.problem.Swap(&text); old == nil || *old != text {
		if err != nil {
			klog.FromContext(ctx).Error(err, "The API server would not trust the certificate that is served", "configuration", t.options.ConfigurationName)
		} else {
			klog.FromContext(ctx).V(2).Info("The API server trusts the certificate that is served", "configuration", t.options.ConfigurationName)
		}
	}
}

// check is nil when the API server trusts what is served, as of the last look.
func (t *trust) check() error {
	switch problem := t.problem.Load(); {
	case problem == nil:
		return errors.New("the webhook configurations were not read yet")
	case *problem != "":
		return errors.New(*problem)
	default:
		return nil
	}
}

// entry is one webhook of a configuration.
type entry struct {
	name   string
	config *admissionregistrationv1.WebhookClientConfig
}

func (t *trust) keep(ctx context.Context) error {
	var bundle []byte
	if t.writes {
		name := t.options.ServiceName + "-ca"
		config, err := t.client.CoreV1().ConfigMaps(t.options.Namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("reading config map %s: %w", name, err)
		}
		bundle = []byte(config.Data[keyBundle])
	}
	return errors.Join(t.keepMutating(ctx, bundle), t.keepValidating(ctx, bundle))
}

func (t *trust) keepMutating(ctx context.Context, bundle []byte) error {
	name, client := t.options.ConfigurationName, t.client.AdmissionregistrationV1().MutatingWebhookConfigurations()
	object, err := client.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("reading MutatingWebhookConfiguration %s: %w", name, err)
	}
	if patch := t.patch(mutatingEntries(object), object.ResourceVersion, bundle); patch != nil {
		if object, err = client.Patch(ctx, name, types.StrategicMergePatchType, patch, metav1.PatchOptions{FieldManager: userAgent}); err != nil {
			return fmt.Errorf("writing caBundle into MutatingWebhookConfiguration %s: %w", name, err)
		}
	}
	return t.verifyAll("MutatingWebhookConfiguration "+name, mutatingEntries(object))
}

func (t *trust) keepValidating(ctx context.Context, bundle []byte) error {
	name, client := t.options.ConfigurationName, t.client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	object, err := client.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("reading ValidatingWebhookConfiguration %s: %w", name, err)
	}
	if patch := t.patch(validatingEntries(object), object.ResourceVersion, bundle); patch != nil {
		if object, err = client.Patch(ctx, name, types.StrategicMergePatchType, patch, metav1.PatchOptions{FieldManager: userAgent}); err != nil {
			return fmt.Errorf("writing caBundle into ValidatingWebhookConfiguration %s: %w", name, err)
		}
	}
	return t.verifyAll("ValidatingWebhookConfiguration "+name, validatingEntries(object))
}

func mutatingEntries(object *admissionregistrationv1.MutatingWebhookConfiguration) []entry {
	var entries []entry
	for i := range object.Webhooks {
		entries = append(entries, entry{object.Webhooks[i].Name, &object.Webhooks[i].ClientConfig})
	}
	return entries
}

func validatingEntries(object *admissionregistrationv1.ValidatingWebhookConfiguration) []entry {
	var entries []entry
	for i := range object.Webhooks {
		entries = append(entries, entry{object.Webhooks[i].Name, &object.Webhooks[i].ClientConfig})
	}
	return entries
}

// patch returns what writes the bundle where it differs, on the version that was read;
// nil when it differs nowhere or is not ours to write. Entries are merged by name, so
// that what others changed in them stays.
func (t *trust) patch(entries []entry, version string, bundle []byte) []byte {
	type clientConfig struct {
		CABundle []byte `json:"caBundle"`
	}
	type webhook struct {
		Name         string       `json:"name"`
		ClientConfig clientConfig `json:"clientConfig"`
	}
	var webhooks []webhook
	for _, e := range entries {
		if t.ours(e) && !bytes.Equal(e.config.CABundle, bundle) {
			webhooks = append(webhooks, webhook{e.name, clientConfig{bundle}})
		}
	}
	if !t.writes || len(bundle) == 0 || len(webhooks) == 0 {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]string{"resourceVersion": version}, "webhooks": webhooks})
	if err != nil {
		return nil // Strings and bytes always encode.
	}
	return patch
}

// ours tells whether the webhook is served by us.
func (t *trust) ours(e entry) bool {
	service := e.config.Service
	return service != nil && service.Name == t.options.ServiceName && service.Namespace == t.options.Namespace
}

// verifyAll tells which of our webhooks the API server would not reach.
func (t *trust) verifyAll(configuration string, entries []entry) error {
	certificate, err := t.serves(nil)
	if err != nil {
		return fmt.Errorf("finding the serving certificate: %w", err)
	}
	ours := 0
	for _, e := range entries {
		if !t.ours(e) {
			continue
		}
		ours++
		if err := verify(certificate, e.config.CABundle, t.options.host(), t.clock.Now()); err != nil {
			return fmt.Errorf("%s, webhook %s: %w", configuration, e.name, err)
		}
	}
	if ours == 0 {
		return fmt.Errorf("%s has no webhook of service %s in namespace %s", configuration, t.options.ServiceName, t.options.Namespace)
	}
	return nil
}

// verify tells whether the certificate, as it is served, verifies for the host.
func verify(served *tls.Certificate, bundle []byte, host string, now time.Time) error {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(bundle) {
		return errors.New("caBundle holds no certificate")
	}
	if len(served.Certificate) == 0 {
		return errors.New("no certificate is served")
	}
	leaf, err := x509.ParseCertificate(served.Certificate[0])
	if err != nil {
		return fmt.Errorf("parsing the serving certificate: %w", err)
	}
	intermediates := x509.NewCertPool()
	for _, der := range served.Certificate[1:] {
		if parsed, err := x509.ParseCertificate(der); err == nil {
			intermediates.AddCert(parsed)
		}
	}
	_, err = leaf.Verify(x509.VerifyOptions{DNSName: host, Roots: roots, Intermediates: intermediates, CurrentTime: now})
	if err != nil {
		return fmt.Errorf("the certificate that is served does not verify against caBundle: %w", err)
	}
	return nil
}
