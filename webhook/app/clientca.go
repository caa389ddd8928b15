package app

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"sync/atomic"

	"k8s.io/klog/v2"
)

// onlyKnown makes a configuration of the server that takes only callers with a
// certificate of the file's CAs. The file is read for each connection, of which the API
// server makes few; while it cannot be, the CAs before stay.
func onlyKnown(logger klog.Logger, base *tls.Config, path string) (*tls.Config, error) {
	first, err := readCAs(path)
	if err != nil {
		return nil, err
	}
	var last atomic.Pointer[x509.CertPool]
	last.Store(first)
	config := base.Clone()
	config.ClientAuth, config.ClientCAs = tls.RequireAndVerifyClientCert, first
	config.NextProtos = []string{"h2", "http/1.1"}
	// A session that is resumed would bring along who was known before.
	config.SessionTicketsDisabled = true
	config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		if pool, err := readCAs(path); err != nil {
			logger.Error(err, "Reading --client-ca-file; the CAs before stay")
		} else {
			last.Store(pool)
		}
		now := config.Clone()
		now.GetConfigForClient, now.ClientCAs = nil, last.Load()
		return now, nil
	}
	return config, nil
}

// readCAs reads the CAs of a file.
func readCAs(path string) (*x509.CertPool, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the CAs: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, errors.New("reading the CAs: " + path + " holds no certificate")
	}
	return pool, nil
}
