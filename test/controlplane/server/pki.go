package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// keyPair names the PEM files of a certificate and of its private key.
type keyPair struct {
	certFile, keyFile string
}

// pki is all key material of one control plane.
type pki struct {
	ca          keyPair // signs serving, admin and whatever client a test mints
	serving     keyPair
	admin       keyPair // in system:masters
	proxyCA     keyPair
	proxyClient keyPair

	serviceAccountKeyFile string
}

// lifetime is longer than anybody leaves a test cluster on.
const lifetime = 10 * 365 * 24 * time.Hour

// ensurePKI makes the keys below dir, or finds those that an earlier run of the
// same control plane made, so that kubeconfigs and tokens outlive a restart.
func ensurePKI(dir string) (pki, error) {
	pair := func(name string) keyPair {
		return keyPair{certFile: filepath.Join(dir, name+".crt"), keyFile: filepath.Join(dir, name+".key")}
	}
	keys := pki{
		ca: pair("ca"), serving: pair("apiserver"), admin: pair("admin"),
		proxyCA: pair("front-proxy-ca"), proxyClient: pair("front-proxy-client"),
		serviceAccountKeyFile: filepath.Join(dir, "service-account.key"),
	}
	// It is written last: when it is there, all others are.
	_, err := os.Stat(keys.serviceAccountKeyFile)
	if err == nil {
		return keys, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return keys, fmt.Errorf("looking for keys: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return keys, fmt.Errorf("making the key directory: %w", err)
	}
	if err := keys.create(); err != nil {
		return keys, fmt.Errorf("making keys: %w", err)
	}
	return keys, nil
}

func (k pki) create() error {
	ca, err := newAuthority("wastenot-test-ca", k.ca)
	if err != nil {
		return err
	}
	proxyCA, err := newAuthority("front-proxy-ca", k.proxyCA)
	if err != nil {
		return err
	}
	err = errors.Join(
		ca.issue(k.serving, &x509.Certificate{
			Subject:     pkix.Name{CommonName: "kube-apiserver"},
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
			DNSNames:    []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"},
			IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		}),
		ca.issue(k.admin, &x509.Certificate{
			Subject:     pkix.Name{CommonName: "kubernetes-admin", Organization: []string{"system:masters"}},
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		}),
		proxyCA.issue(k.proxyClient, &x509.Certificate{
			Subject:     pkix.Name{CommonName: "front-proxy-client"},
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		}),
	)
	if err != nil {
		return err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	return writeKey(k.serviceAccountKeyFile, key)
}

// authority is a certificate authority in memory.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(name string, files keyPair) (authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return authority{}, err
	}
	template := &x509.Certificate{
		Subject:  pkix.Name{CommonName: name},
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		IsCA:     true,
	}
	der, err := sign(template, template, key, key)
	if err != nil {
		return authority{}, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return authority{}, err
	}
	return authority{cert: cert, key: key}, errors.Join(writeCert(files.certFile, der), writeKey(files.keyFile, key))
}

// issue makes a new key, signs template for it and writes both.
func (a authority) issue(files keyPair, template *x509.Certificate) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	der, err := sign(template, a.cert, key, a.key)
	if err != nil {
		return err
	}
	return errors.Join(writeCert(files.certFile, der), writeKey(files.keyFile, key))
}

func sign(template, parent *x509.Certificate, key, signer *ecdsa.PrivateKey) ([]byte, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	template.SerialNumber = serial
	template.NotBefore = time.Now().Add(-time.Hour) // clocks of two machines may differ
	template.NotAfter = template.NotBefore.Add(lifetime)
	template.BasicConstraintsValid = true
	return x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
}

func writeCert(path string, der []byte) error {
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600)
}

func writeKey(path string, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), 0o600)
}
