package servingcert

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

const (
	keyCACert = "ca.crt"
	keyCAKey  = "ca.key"
	// checkInterval is how often the certificate is looked at.
	checkInterval = time.Hour
	// overlap is how old a CA is before a good certificate of another is replaced: until
	// then clients may not have read the new bundle, which a kubelet mounts within
	// minutes.
	overlap = time.Hour
)

// Keeper keeps one certificate. Name is used for the Secret (Name-tls) and the
// ConfigMap with the CA's bundle (Name-ca), both in Namespace.
type Keeper struct {
	Client          kubernetes.Interface
	Namespace, Name string
	// DNSNames are the names that the certificate covers.
	DNSNames []string
	Clock    clock.WithTicker

	current atomic.Pointer[tls.Certificate]
}

// GetCertificate serves the current certificate, for a tls.Config.
func (k *Keeper) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if cert := k.current.Load(); cert != nil {
		return cert, nil
	}
	return nil, errors.New("the serving certificate is not ready")
}

// Run looks at the certificate until ctx ends. Ensure must have succeeded once.
func (k *Keeper) Run(ctx context.Context) {
	ticker := k.Clock.NewTicker(checkInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
			if err := k.Ensure(ctx); err != nil && ctx.Err() == nil {
				klog.FromContext(ctx).Error(err, "Renewing the serving certificate; the old one stays")
			}
		}
	}
}

// Ensure makes what is missing or worn, publishes the CA's bundle and loads the
// certificate.
func (k *Keeper) Ensure(ctx context.Context) error {
	secret, err := k.ensureSecret(ctx)
	if err != nil {
		return err
	}
	if err := k.ensureBundle(ctx, secret.Data[keyCACert]); err != nil {
		return err
	}
	cert, err := tls.X509KeyPair(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey])
	if err != nil {
		return fmt.Errorf("loading the serving certificate: %w", err)
	}
	k.current.Store(&cert)
	return nil
}

func (k *Keeper) ensureSecret(ctx context.Context) (*corev1.Secret, error) {
	secrets := k.Client.CoreV1().Secrets(k.Namespace)
	name := k.Name + "-tls"
	old, err := secrets.Get(ctx, name, metav1.GetOptions{})
	missing := apierrors.IsNotFound(err)
	if err != nil && !missing {
		return nil, fmt.Errorf("reading secret %s: %w", name, err)
	}
	if missing {
		old = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: k.Namespace}, Type: corev1.SecretTypeTLS}
	}
	data, err := k.renew(old.Data)
	if err != nil {
		return nil, err
	}
	if data == nil {
		return old, nil
	}
	next := old.DeepCopy()
	next.Data = data
	var written *corev1.Secret
	if missing {
		written, err = secrets.Create(ctx, next, metav1.CreateOptions{})
	} else {
		written, err = secrets.Update(ctx, next, metav1.UpdateOptions{})
	}
	if apierrors.IsAlreadyExists(err) || apierrors.IsConflict(err) {
		// Another replica was first; what it wrote is as good.
		written, err = secrets.Get(ctx, name, metav1.GetOptions{})
	}
	return written, wrap(err, "writing secret %s", name)
}

// renew returns new data for the Secret, or nil when what is there is good. A worn CA
// is replaced first, and a certificate that it signed only when clients have had time
// to read the new bundle. What cannot be read is replaced at once.
func (k *Keeper) renew(data map[string][]byte) (map[string][]byte, error) {
	now := k.Clock.Now()
	next := maps.Clone(data)
	if next == nil {
		next = map[string][]byte{}
	}
	ca := pair{cert: data[keyCACert], key: data[keyCAKey]}
	leaf := pair{cert: data[corev1.TLSCertKey], key: data[corev1.TLSPrivateKeyKey]}
	freshCA := !ca.matches() || worn(ca.cert, nil, now)
	if freshCA {
		var err error
		if ca, err = newCA(k.Name, now); err != nil {
			return nil, err
		}
		next[keyCACert], next[keyCAKey] = ca.cert, ca.key
	}
	if leaf.matches() && !worn(leaf.cert, k.DNSNames, now) && (signedBy(leaf, ca) || young(ca, now)) {
		if freshCA {
			return next, nil
		}
		return nil, nil
	}
	leaf, err := newLeaf(ca, k.DNSNames, now)
	if err != nil {
		return nil, err
	}
	next[corev1.TLSCertKey], next[corev1.TLSPrivateKeyKey] = leaf.cert, leaf.key
	return next, nil
}

// ensureBundle adds the CA to the published bundle. Replicas may write it at the same
// time; whoever is second looks again.
func (k *Keeper) ensureBundle(ctx context.Context, ca []byte) error {
	for {
		err := k.writeBundle(ctx, ca)
		if !apierrors.IsAlreadyExists(err) && !apierrors.IsConflict(err) {
			return wrap(err, "publishing the CA in config map %s-ca", k.Name)
		}
	}
}

func (k *Keeper) writeBundle(ctx context.Context, ca []byte) error {
	maps := k.Client.CoreV1().ConfigMaps(k.Namespace)
	name := k.Name + "-ca"
	old, err := maps.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		_, err = maps.Create(ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: k.Namespace}, Data: map[string]string{keyCACert: string(ca)},
		}, metav1.CreateOptions{})
		return err
	}
	if err != nil {
		return err
	}
	want := bundle(ca, []byte(old.Data[keyCACert]), k.Clock.Now())
	if bytes.Equal(want, []byte(old.Data[keyCACert])) {
		return nil
	}
	next := old.DeepCopy()
	if next.Data == nil {
		next.Data = map[string]string{}
	}
	next.Data[keyCACert] = string(want)
	_, err = maps.Update(ctx, next, metav1.UpdateOptions{})
	return err
}

func wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf(format+": %w", append(args, err)...)
}
