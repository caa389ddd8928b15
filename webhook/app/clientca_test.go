package app

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"wastenot.dev/webhook/serve"
)

// authority is a CA of a test.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{}
	a.certificate, a.key = a.sign(t, &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	return a
}

// sign makes a certificate; the CA's own while it has none.
func (a *authority) sign(t *testing.T, template *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template.SerialNumber, template.Subject = big.NewInt(time.Now().UnixNano()), pkix.Name{CommonName: t.Name()}
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, signer := a.certificate, a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return certificate, key
}

// client is the certificate of one whom the CA knows.
func (a *authority) client(t *testing.T, usage x509.ExtKeyUsage) *tls.Certificate {
	t.Helper()
	certificate, key := a.sign(t, &x509.Certificate{KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{usage}})
	return &tls.Certificate{Certificate: [][]byte{certificate.Raw}, PrivateKey: key}
}

func (a *authority) write(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.certificate.Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestOnlyTheControlPlaneMayAsk over TLS: without a certificate of the client CA nobody
// gets as far as a handler, which could reserve a team's room.
func TestOnlyTheControlPlaneMayAsk(t *testing.T) {
	ours, theirs := newAuthority(t), newAuthority(t)
	file := filepath.Join(t.TempDir(), "ca.crt")
	ours.write(t, file)
	r := start(t, "", func(options *Options) { options.ClientCAFile = file })
	r.awaitReady(t) // Probes need no certificate.
	may := func(certificate *tls.Certificate) bool {
		t.Helper()
		client := r.caller(t, certificate)
		defer client.CloseIdleConnections()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+r.service.options.WebhookAddress+serve.PathEnforcePods, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(request)
		if err != nil {
			return false
		}
		return response.Body.Close() == nil
	}
	known := ours.client(t, x509.ExtKeyUsageClientAuth)
	for name, test := range map[string]struct {
		certificate *tls.Certificate
		want        bool
	}{
		"known":           {known, true},
		"none":            {nil, false},
		"of another CA":   {theirs.client(t, x509.ExtKeyUsageClientAuth), false},
		"not for clients": {ours.client(t, x509.ExtKeyUsageServerAuth), false},
	} {
		if got := may(test.certificate); got != test.want {
			t.Errorf("%s: may ask %v, want %v", name, got, test.want)
		}
	}
	// The file changes while the process runs. While it is no CA, the one before stays.
	if err := os.WriteFile(file, []byte("half written"), 0o600); err != nil {
		t.Fatal(err)
	}
	if !may(known) {
		t.Error("a file that is half written takes the CA away")
	}
	theirs.write(t, file)
	if may(known) || !may(theirs.client(t, x509.ExtKeyUsageClientAuth)) {
		t.Error("the CA before the change is still the one")
	}
}
