package app

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	// writeTries is how many writes in a row must fail until what they would have mended
	// counts: another replica may have been first, and trouble passes.
	writeTries = 3
)

// trust keeps the API server's trust in the certificate that is served: it writes the
// CA's bundle into the webhook configurations, unless somebody else does, and says
// whether what is served verifies against what they hold. While they cannot be read or
// written, what was found before holds: trouble with the API server must not take all
// replicas away at once. Nor must whoever takes us out of admission.
type trust struct {
	client  kubernetes.Interface
	options *Options
	clock   clock.WithTicker
	// serves is what the TLS listener serves, and writes tells whether caBundle is ours to
	// write.
	serves func(*tls.ClientHelloInfo) (*tls.Certificate, error)
	writes bool

	found atomic.Pointer[finding]
}

// finding is what the looks found.
type finding struct {
	mutating, validating verdict
	// fault is what was in the way of the last look; empty for nothing.
	fault string
}

// verdict is on one configuration.
type verdict struct {
	// known tells that it was looked at, and missing that it was not there or had no webhook
	// of ours.
	known, missing bool
	// problem is why the API server would not trust what is served; empty where it would.
	problem string
	// unwritten counts the writes that failed in a row.
	unwritten int
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

// look brings the configurations in line and notes what it found.
func (t *trust) look(ctx context.Context) {
	old, next := t.last(), finding{}
	bundle, err := t.bundle(ctx)
	faults := []error{err}
	next.mutating, err = t.judge(ctx, mutatingConfiguration(t.client), bundle, old.mutating)
	faults = append(faults, err)
	next.validating, err = t.judge(ctx, validatingConfiguration(t.client), bundle, old.validating)
	if err = errors.Join(append(faults, err)...); err != nil {
		next.fault = err.Error()
	}
	if ctx.Err() == nil {
		t.found.Store(&next)
		t.tell(klog.FromContext(ctx).WithValues("configuration", t.options.ConfigurationName), old, next)
	}
}

// tell logs what changed.
func (t *trust) tell(logger klog.Logger, old, next finding) {
	if next.fault != "" && next.fault != old.fault {
		logger.Error(errors.New(next.fault), "Looking after the webhook configurations; what was found before holds")
	}
	if absent := next.missing(); len(absent) > 0 && !slices.Equal(absent, old.missing()) {
		logger.Error(nil, "The API server does not ask: there is no webhook configuration of ours", "missing", absent)
	}
	switch before, now := old.check(), next.check(); {
	case now != nil && (before == nil || before.Error() != now.Error()):
		logger.Error(now, "The API server would not trust the certificate that is served")
	case now == nil && before != nil:
		logger.V(2).Info("The API server trusts the certificate that is served")
	}
}

func (t *trust) last() finding {
	if found := t.found.Load(); found != nil {
		return *found
	}
	return finding{}
}

// check is nil when the API server trusts what is served, as far as is known.
func (t *trust) check() error { return t.last().check() }

func (f finding) check() error {
	var errs []error
	for _, v := range []verdict{f.mutating, f.validating} {
		switch {
		case !v.known:
			return errors.New(strings.TrimSuffix("the webhook configurations were not read yet: "+f.fault, ": "))
		case v.problem != "":
			errs = append(errs, errors.New(v.problem))
		}
	}
	return errors.Join(errs...)
}

// missing names the kinds of configurations that are not there.
func (f finding) missing() []string {
	var kinds []string
	if f.mutating.missing {
		kinds = append(kinds, kindMutating)
	}
	if f.validating.missing {
		kinds = append(kinds, kindValidating)
	}
	return kinds
}

// bundle is what caBundle should be; nil where that is not ours to say.
func (t *trust) bundle(ctx context.Context) ([]byte, error) {
	if !t.writes {
		return nil, nil
	}
	name := t.options.ServiceName + "-ca"
	config, err := t.client.CoreV1().ConfigMaps(t.options.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("reading config map %s: %w", name, err)
	}
	return []byte(config.Data[keyBundle]), nil
}

// judge brings one configuration in line and says how it then is. Its error is what was
// in the way; the verdict is then the old one, where that is all that is known.
func (t *trust) judge(ctx context.Context, c configuration, bundle []byte, old verdict) (verdict, error) {
	name := t.options.ConfigurationName
	entries, version, err := c.get(ctx, name)
	switch {
	case apierrors.IsNotFound(err):
		return verdict{known: true, missing: true}, nil
	case err != nil:
		return old, fmt.Errorf("reading %s %s: %w", c.kind, name, err)
	}
	var fault error
	if patch := t.patch(entries, version, bundle); patch != nil {
		written, err := c.patch(ctx, name, patch)
		if err == nil {
			entries = written
		} else {
			fault = fmt.Errorf("writing caBundle into %s %s: %w", c.kind, name, err)
		}
	}
	now := t.verifyAll(c.kind+" "+name, entries)
	if fault != nil {
		now.unwritten = old.unwritten + 1
		if now.problem != "" && now.unwritten < writeTries {
			old.unwritten = now.unwritten
			return old, fault
		}
	}
	return now, fault
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

// verifyAll tells whether the API server would reach our webhooks.
func (t *trust) verifyAll(configuration string, entries []entry) verdict {
	certificate, err := t.serves(nil)
	if err != nil {
		return verdict{known: true, problem: fmt.Sprintf("finding the serving certificate: %v", err)}
	}
	entries = slices.DeleteFunc(slices.Clone(entries), func(e entry) bool { return !t.ours(e) })
	for _, e := range entries {
		if err := verify(certificate, e.config.CABundle, t.options.host(), t.clock.Now()); err != nil {
			return verdict{known: true, problem: fmt.Sprintf("%s, webhook %s: %v", configuration, e.name, err)}
		}
	}
	return verdict{known: true, missing: len(entries) == 0}
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
