package fleet

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	telemetryv1alpha1 "wastenot.dev/api/telemetry/v1alpha1"
	"wastenot.dev/api/v1alpha1"
)

// authority signs serving certificates.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T, name string) *authority {
	t.Helper()
	a := &authority{t: t, key: newKey(t)}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	a.cert = parse(t, create(t, template, template, &a.key.PublicKey, a.key))
	return a
}

func (a *authority) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
}

func (a *authority) leaf(name string) *tls.Certificate {
	a.t.Helper()
	key := newKey(a.t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), DNSNames: []string{name}, NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	return &tls.Certificate{Certificate: [][]byte{create(a.t, template, a.cert, &key.PublicKey, a.key)}, PrivateKey: key}
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func create(t *testing.T, template, parent *x509.Certificate, public *ecdsa.PublicKey, signer *ecdsa.PrivateKey) []byte {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, signer)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

func parse(t *testing.T, der []byte) *x509.Certificate {
	t.Helper()
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

// tlsTelemetry sends one heartbeat to each caller and keeps the token it came with.
type tlsTelemetry struct {
	telemetryv1alpha1.UnimplementedFleetServer

	address string
	cert    atomic.Pointer[tls.Certificate]
	token   atomic.Pointer[string]
}

// Watch notes the token.
func (s *tlsTelemetry) Watch(_ *telemetryv1alpha1.WatchRequest, stream grpc.ServerStreamingServer[telemetryv1alpha1.WatchEvent]) error {
	md, _ := metadata.FromIncomingContext(stream.Context())
	token := strings.Join(md.Get("authorization"), ", ")
	s.token.Store(&token)
	return stream.Send(&telemetryv1alpha1.WatchEvent{Sequence: 1})
}

func serveTLS(t *testing.T, cert *tls.Certificate) *tlsTelemetry {
	t.Helper()
	s := &tlsTelemetry{}
	s.cert.Store(cert)
	transport := insecure.NewCredentials()
	if cert != nil {
		transport = credentials.NewTLS(&tls.Config{
			MinVersion:     tls.VersionTLS13,
			GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return s.cert.Load(), nil },
		})
	}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.address = listener.Addr().String()
	server := grpc.NewServer(grpc.Creds(transport))
	telemetryv1alpha1.RegisterFleetServer(server, s)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return s
}

// dialOnce opens a stream and waits for the first message.
func dialOnce(t *testing.T, dial Dialer) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	stream, closeStream, err := dial(ctx)
	if err != nil {
		return err
	}
	defer closeStream()
	_, err = stream.Recv()
	return err
}

type files struct {
	t      *testing.T
	folder string
}

func (f files) write(name string, content []byte) string {
	f.t.Helper()
	path := filepath.Join(f.folder, name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		f.t.Fatal(err)
	}
	return path
}

func TestDialerReadsTokenAndBundleAgain(t *testing.T) {
	oldCA, newCA := newAuthority(t, "old"), newAuthority(t, "new")
	telemetry := serveTLS(t, oldCA.leaf("telemetry.test"))
	f := files{t, t.TempDir()}
	args := v1alpha1.FleetClientArgs{
		Address: telemetry.address, ServerName: "telemetry.test",
		CAFile: f.write("ca.crt", oldCA.pem()), TokenFile: f.write("token", []byte("first\n")),
	}
	dial := NewDialer(args, "test")
	wantToken := func(want string) {
		t.Helper()
		if err := dialOnce(t, dial); err != nil {
			t.Fatal(err)
		}
		if got := *telemetry.token.Load(); got != want {
			t.Errorf("token %q, want %q", got, want)
		}
	}
	wantToken("Bearer first")
	f.write("token", []byte("second"))
	wantToken("Bearer second")

	telemetry.cert.Store(newCA.leaf("telemetry.test"))
	if err := dialOnce(t, dial); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("error %v, want one about the certificate", err)
	}
	f.write("ca.crt", append(oldCA.pem(), newCA.pem()...))
	wantToken("Bearer second")
}

func TestDialerRefuses(t *testing.T) {
	ca := newAuthority(t, "ca")
	telemetry, plain := serveTLS(t, ca.leaf("telemetry.test")), serveTLS(t, nil)
	f := files{t, t.TempDir()}
	good := v1alpha1.FleetClientArgs{
		Address: telemetry.address, ServerName: "telemetry.test",
		CAFile: f.write("ca.crt", ca.pem()), TokenFile: f.write("token", []byte("token")),
	}
	if err := dialOnce(t, NewDialer(good, "test")); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		change func(*v1alpha1.FleetClientArgs)
		want   string
	}{
		"a certificate of another name":         {func(a *v1alpha1.FleetClientArgs) { a.ServerName = "other.test" }, "not other.test"},
		"a certificate without the host's name": {func(a *v1alpha1.FleetClientArgs) { a.ServerName = "" }, "127.0.0.1"},
		"a bundle that is not there":            {func(a *v1alpha1.FleetClientArgs) { a.CAFile += ".none" }, "reading the CA bundle"},
		"a bundle without certificates":         {func(a *v1alpha1.FleetClientArgs) { a.CAFile = a.TokenFile }, "holds no certificate"},
		"a token that is not there":             {func(a *v1alpha1.FleetClientArgs) { a.TokenFile += ".none" }, "reading the token"},
		"an address without a port":             {func(a *v1alpha1.FleetClientArgs) { a.Address = "telemetry" }, "reading the address"},
		"a server without TLS":                  {func(a *v1alpha1.FleetClientArgs) { a.Address = plain.address }, "handshake"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			args := good
			test.change(&args)
			err := dialOnce(t, NewDialer(args, "test"))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
	if plain.token.Load() != nil {
		t.Error("the token went over an unencrypted connection")
	}
}

func TestATokenGoesOverTLSOnly(t *testing.T) {
	plain := serveTLS(t, nil)
	f := files{t, t.TempDir()}
	conn, err := grpc.NewClient(plain.address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithPerRPCCredentials(fileToken(f.write("token", []byte("token")))))
	if err == nil {
		_ = conn.Close()
		t.Error("a connection without TLS may carry the token")
	}
}
