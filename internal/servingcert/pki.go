package servingcert

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"time"
)

const (
	caLifetime   = 10 * 365 * 24 * time.Hour
	leafLifetime = 90 * 24 * time.Hour
	// clockSkew is how far a client's clock may be behind.
	clockSkew = 5 * time.Minute
)

// pair is a certificate and its key, both PEM.
type pair struct{ cert, key []byte }

// matches tells whether both can be read and belong together.
func (p pair) matches() bool {
	cert, err := parseCert(p.cert)
	if err != nil {
		return false
	}
	key, err := parseKey(p.key)
	return err == nil && key.PublicKey.Equal(cert.PublicKey)
}

// signedBy tells whether the authority signed the certificate.
func signedBy(leaf, ca pair) bool {
	cert, err := parseCert(leaf.cert)
	if err != nil {
		return false
	}
	authority, err := parseCert(ca.cert)
	return err == nil && cert.CheckSignatureFrom(authority) == nil
}

// young tells whether the authority was made less than an overlap ago.
func young(ca pair, now time.Time) bool {
	cert, err := parseCert(ca.cert)
	return err == nil && now.Before(cert.NotBefore.Add(clockSkew+overlap))
}

// newCA makes a self-signed authority.
func newCA(name string, now time.Time) (pair, error) {
	return sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: name + "-ca"}, NotBefore: now.Add(-clockSkew), NotAfter: now.Add(caLifetime),
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, BasicConstraintsValid: true, IsCA: true,
	}, nil)
}

// newLeaf makes a serving certificate for the names.
func newLeaf(ca pair, names []string, now time.Time) (pair, error) {
	return sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: names[0]}, DNSNames: names, NotBefore: now.Add(-clockSkew), NotAfter: now.Add(leafLifetime),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, &ca)
}

// sign makes a key and a certificate from the template, signed by ca or by itself.
func sign(template *x509.Certificate, ca *pair) (pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pair{}, fmt.Errorf("making a key: %w", err)
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127)); err != nil {
		return pair{}, fmt.Errorf("making a serial number: %w", err)
	}
	parent, parentKey := template, key
	if ca != nil {
		if parent, err = parseCert(ca.cert); err != nil {
			return pair{}, err
		}
		if parentKey, err = parseKey(ca.key); err != nil {
			return pair{}, err
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, parentKey)
	if err != nil {
		return pair{}, fmt.Errorf("signing a certificate: %w", err)
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return pair{}, fmt.Errorf("encoding a key: %w", err)
	}
	return pair{
		cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		key:  pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER}),
	}, nil
}

func parseCert(text []byte) (*x509.Certificate, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("reading a certificate: no PEM block")
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("reading a certificate: %w", err)
	}
	return cert, nil
}

func parseKey(text []byte) (*ecdsa.PrivateKey, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("reading a key: no PEM block")
	}
	key, err := x509.ParseECPrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("reading a key: %w", err)
	}
	return key, nil
}

// worn tells whether two thirds of the certificate's life are over, or it cannot be
// read or does not cover the names.
func worn(text []byte, names []string, now time.Time) bool {
	cert, err := parseCert(text)
	if err != nil {
		return true
	}
	for _, name := range names {
		if cert.VerifyHostname(name) != nil {
			return true
		}
	}
	life := cert.NotAfter.Sub(cert.NotBefore)
	return now.After(cert.NotBefore.Add(life * 2 / 3))
}

// bundle joins the current CA with those of the old bundle that have not expired.
func bundle(current, old []byte, now time.Time) []byte {
	out := append([]byte{}, current...)
	for len(old) > 0 {
		var block *pem.Block
		if block, old = pem.Decode(old); block == nil {
			break
		}
		text := pem.EncodeToMemory(block)
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil || now.After(cert.NotAfter) || string(text) == string(current) {
			continue
		}
		out = append(out, text...)
	}
	return out
}
