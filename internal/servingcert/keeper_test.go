package servingcert

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
)

const (
	serviceName = "telemetry.system.svc"
	secretName  = "telemetry-tls"
	bundleName  = "telemetry-ca"
	day         = 24 * time.Hour
)

// cluster is an API server with one keeper and a clock.
type cluster struct {
	*Keeper

	t      *testing.T
	client *fake.Clientset
	clock  *clocktesting.FakeClock
}

func newCluster(t *testing.T, objects ...runtime.Object) *cluster {
	t.Helper()
	client, clk := fake.NewClientset(objects...), clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	return &cluster{
		t: t, client: client, clock: clk,
		Keeper: &Keeper{Client: client, Namespace: "system", Name: "telemetry", DNSNames: []string{serviceName}, Clock: clk},
	}
}

func (c *cluster) ensure() {
	c.t.Helper()
	if err := c.Ensure(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
}

// pass lets time go by and looks at the certificate as often as Run would.
func (c *cluster) pass(d time.Duration) {
	c.t.Helper()
	c.clock.Step(d)
	c.ensure()
}

func (c *cluster) secret() *corev1.Secret {
	c.t.Helper()
	secret, err := c.client.CoreV1().Secrets("system").Get(c.t.Context(), secretName, metav1.GetOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	return secret
}

func (c *cluster) setSecret(change func(data map[string][]byte)) {
	c.t.Helper()
	secret := c.secret()
	change(secret.Data)
	if _, err := c.client.CoreV1().Secrets("system").Update(c.t.Context(), secret, metav1.UpdateOptions{}); err != nil {
		c.t.Fatal(err)
	}
}

func (c *cluster) bundle() string {
	c.t.Helper()
	published, err := c.client.CoreV1().ConfigMaps("system").Get(c.t.Context(), bundleName, metav1.GetOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	return published.Data[keyCACert]
}

func (c *cluster) served() *tls.Certificate {
	c.t.Helper()
	cert, err := c.GetCertificate(nil)
	if err != nil {
		c.t.Fatal(err)
	}
	return cert
}

// handshake connects to a server with the served certificate, as a client that knows
// the bundle, and returns what the client makes of it.
func (c *cluster) handshake(bundle, name string) error {
	c.t.Helper()
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM([]byte(bundle)) {
		c.t.Fatal("the bundle holds no certificate")
	}
	listener, err := (&net.ListenConfig{}).Listen(c.t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		c.t.Fatal(err)
	}
	server := tls.NewListener(listener, &tls.Config{MinVersion: tls.VersionTLS13, GetCertificate: c.GetCertificate, Time: c.clock.Now})
	var serving sync.WaitGroup
	serving.Go(func() {
		conn, err := server.Accept()
		if err != nil {
			return
		}
		_, _ = io.WriteString(conn, "x")
		_ = conn.Close()
	})
	defer serving.Wait()
	defer func() { _ = server.Close() }()
	dialer := &tls.Dialer{Config: &tls.Config{MinVersion: tls.VersionTLS13, ServerName: name, RootCAs: pool, Time: c.clock.Now}}
	conn, err := dialer.DialContext(c.t.Context(), "tcp", listener.Addr().String())
	if err != nil {
		return err
	}
	_, err = conn.Read(make([]byte, 1))
	_ = conn.Close()
	return err
}

func (c *cluster) wantTrusted(bundle string) {
	c.t.Helper()
	if err := c.handshake(bundle, serviceName); err != nil {
		c.t.Errorf("a client with the bundle refuses the server: %v", err)
	}
}

func certs(t *testing.T, bundle string) int {
	t.Helper()
	count, rest := 0, []byte(bundle)
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return count
		}
		count++
	}
}

func TestEnsureMakesWhatIsMissing(t *testing.T) {
	c := newCluster(t)
	if _, err := c.GetCertificate(nil); err == nil {
		t.Error("a certificate before any was made")
	}
	c.ensure()
	c.wantTrusted(c.bundle())
	if err := c.handshake(c.bundle(), "other.system.svc"); err == nil {
		t.Error("a client that wanted another name was content")
	}
	if c.secret().Type != corev1.SecretTypeTLS {
		t.Errorf("the secret's type is %s", c.secret().Type)
	}
	if strings.Contains(c.bundle(), "PRIVATE") {
		t.Error("the bundle holds a key")
	}

	c.client.ClearActions()
	c.pass(time.Hour)
	for _, action := range c.client.Actions() {
		if action.GetVerb() != "get" {
			t.Errorf("%s of %s although all is good", action.GetVerb(), action.GetResource().Resource)
		}
	}
}

func TestLeafIsRenewedInTime(t *testing.T) {
	c := newCluster(t)
	c.ensure()
	bundle, first := c.bundle(), c.served()
	c.pass(59 * day)
	if !bytes.Equal(c.served().Certificate[0], first.Certificate[0]) {
		t.Error("renewed too early")
	}
	c.pass(2 * day)
	if bytes.Equal(c.served().Certificate[0], first.Certificate[0]) {
		t.Error("not renewed after two thirds of its life")
	}
	if c.bundle() != bundle {
		t.Error("a new certificate changed the bundle")
	}
	c.wantTrusted(bundle)
}

func TestCARotatesWithOverlap(t *testing.T) {
	c := newCluster(t)
	c.ensure()
	// Look often enough for certificates to be renewed, up to the day of the new CA.
	old := c.bundle()
	for days := 0; c.bundle() == old; days += 10 {
		if days > 10*365 {
			t.Fatal("no new CA before the old one expired")
		}
		c.wantTrusted(old)
		c.pass(10 * day)
	}
	if certs(t, c.bundle()) != 2 {
		t.Fatalf("%d certificates in the bundle, want the new and the old", certs(t, c.bundle()))
	}
	ca, rest, _ := strings.Cut(c.bundle(), old)
	if rest != "" {
		t.Error("the new CA is not the first")
	}
	c.wantTrusted(old) // Clients that have not read the new bundle.
	c.wantTrusted(c.bundle())

	// Another replica, or this one started anew, must not hurry.
	c.ensure()
	c.pass(overlap - time.Second)
	c.wantTrusted(old)

	c.pass(2 * time.Second)
	c.wantTrusted(ca)
	c.wantTrusted(c.bundle())
	if err := c.handshake(old, serviceName); err == nil {
		t.Error("the certificate is still of the old CA")
	}

	// The old CA leaves the bundle when it has expired.
	for range 10 * 365 / 3 / 10 {
		c.pass(10 * day)
	}
	c.pass(10 * day)
	if c.bundle() != ca {
		t.Errorf("%d certificates in the bundle, want only the current", certs(t, c.bundle()))
	}
	c.wantTrusted(ca)
}

func TestAnExpiredLeafIsReplacedEvenWhenTheCAIsNew(t *testing.T) {
	c := newCluster(t)
	c.ensure()
	c.pass(8 * 365 * day) // The process was away.
	c.wantTrusted(c.bundle())
}

func TestNamesThatChangeMakeANewLeaf(t *testing.T) {
	c := newCluster(t)
	c.ensure()
	bundle := c.bundle()
	c.DNSNames = []string{"other.system.svc", serviceName}
	c.ensure()
	if c.bundle() != bundle {
		t.Error("the CA changed")
	}
	c.wantTrusted(bundle)
	if err := c.handshake(bundle, "other.system.svc"); err != nil {
		t.Error(err)
	}
}

func TestASecretThatCannotBeReadIsRepaired(t *testing.T) {
	other := newCluster(t)
	other.ensure()
	garbage := []byte("garbage")
	wrongBlock := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: garbage})
	tests := map[string]struct {
		change  func(data map[string][]byte)
		keepsCA bool
	}{
		"no data":                     {change: func(data map[string][]byte) { clear(data) }},
		"no CA":                       {change: func(data map[string][]byte) { delete(data, keyCACert) }},
		"a CA that is no PEM":         {change: func(data map[string][]byte) { data[keyCACert] = garbage }},
		"a CA that is no certificate": {change: func(data map[string][]byte) { data[keyCACert] = wrongBlock }},
		"a CA without its key":        {change: func(data map[string][]byte) { data[keyCAKey] = garbage }},
		"a CA with another's key":     {change: func(data map[string][]byte) { data[keyCAKey] = other.secret().Data[keyCAKey] }},
		"a certificate that is no PEM": {
			change: func(data map[string][]byte) { data[corev1.TLSCertKey] = garbage }, keepsCA: true,
		},
		"a certificate that is none": {
			change: func(data map[string][]byte) { data[corev1.TLSCertKey] = wrongBlock }, keepsCA: true,
		},
		"a certificate without its key": {
			change: func(data map[string][]byte) { data[corev1.TLSPrivateKeyKey] = garbage }, keepsCA: true,
		},
		"a certificate with another's key": {
			change: func(data map[string][]byte) {
				data[corev1.TLSPrivateKeyKey] = other.secret().Data[corev1.TLSPrivateKeyKey]
			},
			keepsCA: true,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			c.ensure()
			bundle := c.bundle()
			c.clock.Step(2 * overlap)
			c.setSecret(test.change)
			c.ensure()
			c.wantTrusted(c.bundle())
			if keeps := c.bundle() == bundle; keeps != test.keepsCA {
				t.Errorf("the CA stayed: %t", keeps)
			}
			c.pass(2 * overlap)
			c.wantTrusted(c.bundle())
		})
	}
}

func TestACertificateOfAStrangersCAIsReplaced(t *testing.T) {
	c, stranger := newCluster(t), newCluster(t)
	c.ensure()
	stranger.ensure()
	c.clock.Step(2 * overlap)
	c.setSecret(func(data map[string][]byte) {
		for _, key := range []string{corev1.TLSCertKey, corev1.TLSPrivateKeyKey} {
			data[key] = stranger.secret().Data[key]
		}
	})
	c.ensure()
	c.wantTrusted(c.bundle())
}

func TestABundleThatIsDamagedIsRepaired(t *testing.T) {
	for name, data := range map[string]map[string]string{
		"empty": nil, "garbage": {keyCACert: "garbage"}, "a block that is no certificate": {keyCACert: "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: bundleName}, Data: data})
			c.ensure()
			c.wantTrusted(c.bundle())
			if certs(t, c.bundle()) != 1 {
				t.Errorf("%d certificates in the bundle", certs(t, c.bundle()))
			}
		})
	}
}

// once answers the first request of a kind with an error, after something else has
// happened to what the cluster holds.
func (c *cluster) once(verb, resource string, meanwhile func(), answer error) {
	done := false
	c.client.PrependReactor(verb, resource, func(clienttesting.Action) (bool, runtime.Object, error) {
		if done {
			return false, nil, nil
		}
		done = true
		meanwhile()
		return true, nil, answer
	})
}

// replica returns another keeper of a cluster that holds the same.
func (c *cluster) replica() *cluster {
	c.t.Helper()
	var objects []runtime.Object
	for resource, name := range objectNames {
		object, err := c.client.Tracker().Get(corev1.SchemeGroupVersion.WithResource(resource), "system", name)
		if err == nil {
			objects = append(objects, object)
		}
	}
	other := newCluster(c.t, objects...)
	other.clock, other.Clock = c.clock, c.clock
	return other
}

var objectNames = map[string]string{"secrets": secretName, "configmaps": bundleName}

// take replaces what the cluster holds by what the other holds.
func (c *cluster) take(other *cluster) {
	for resource, name := range objectNames {
		gvr := corev1.SchemeGroupVersion.WithResource(resource)
		object, err := other.client.Tracker().Get(gvr, "system", name)
		if err != nil {
			c.t.Error(err)
			return
		}
		err = c.client.Tracker().Create(gvr, object, "system")
		if apierrors.IsAlreadyExists(err) {
			err = c.client.Tracker().Update(gvr, object, "system")
		}
		if err != nil {
			c.t.Error(err)
		}
	}
}

func TestReplicasAgree(t *testing.T) {
	conflict := apierrors.NewConflict(corev1.Resource("secrets"), "x", errors.New("it has changed"))
	exists := apierrors.NewAlreadyExists(corev1.Resource("secrets"), "x")
	tests := map[string]struct {
		prepare        func(c *cluster)
		verb, resource string
		answer         error
	}{
		"both make the secret": {verb: "create", resource: "secrets", answer: exists},
		"both make the bundle": {verb: "create", resource: "configmaps", answer: exists},
		"both renew the secret": {
			prepare: func(c *cluster) { c.ensure(); c.clock.Step(61 * day) }, verb: "update", resource: "secrets", answer: conflict,
		},
		"both replace the CA": {
			prepare: func(c *cluster) { c.ensure(); c.clock.Step(7 * 365 * day) }, verb: "update", resource: "configmaps", answer: conflict,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			if test.prepare != nil {
				test.prepare(c)
			}
			other := c.replica()
			other.ensure()
			raced := false
			c.once(test.verb, test.resource, func() { raced = true; c.take(other) }, test.answer)
			c.ensure()
			if !raced {
				t.Fatal("there was no race")
			}
			c.wantTrusted(c.bundle())
			other.wantTrusted(c.bundle())
		})
	}
}

func TestEnsureReportsWhatItCannotDo(t *testing.T) {
	for _, verb := range []string{"get", "create"} {
		for _, resource := range []string{"secrets", "configmaps"} {
			t.Run(verb+" "+resource, func(t *testing.T) {
				c := newCluster(t)
				denied := apierrors.NewForbidden(corev1.Resource(resource), "x", errors.New("no such right"))
				c.once(verb, resource, func() {}, denied)
				if err := c.Ensure(t.Context()); !apierrors.IsForbidden(err) {
					t.Errorf("error %v", err)
				}
				c.ensure()
			})
		}
	}
}

func TestRunRenewsUntilItsContextEnds(t *testing.T) {
	c := newCluster(t)
	c.ensure()
	first := c.served().Certificate[0]
	written := make(chan struct{}, 1)
	c.client.PrependReactor("update", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
		written <- struct{}{}
		return false, nil, nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	ticking := make(chan struct{})
	k := &Keeper{Client: c.client, Namespace: "system", Name: "telemetry", DNSNames: c.DNSNames, Clock: &tellingClock{FakeClock: c.clock, ticking: ticking}}
	running.Go(func() { k.Run(ctx) })
	<-ticking
	c.clock.Step(61 * day)
	<-written
	cancel()
	running.Wait()
	c.Keeper = k
	if bytes.Equal(c.served().Certificate[0], first) {
		t.Error("Run left the old certificate")
	}
}

// tellingClock tells that a ticker runs.
type tellingClock struct {
	*clocktesting.FakeClock

	ticking chan struct{}
}

// NewTicker tells that the ticker is there.
func (c *tellingClock) NewTicker(d time.Duration) clock.Ticker {
	ticker := c.FakeClock.NewTicker(d)
	close(c.ticking)
	return ticker
}
