package weedtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// authority is a certificate authority with one certificate, which servers
// and clients share.
type authority struct {
	caFile, certFile, keyFile string
	pool                      *x509.CertPool
	pair                      tls.Certificate
}

func newAuthority(dir string) (*authority, error) {
	a := &authority{
		caFile:   filepath.Join(dir, "ca.crt"),
		certFile: filepath.Join(dir, "node.crt"),
		keyFile:  filepath.Join(dir, "node.key"),
		pool:     x509.NewCertPool(),
	}
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	ca := certificate(1, "weedtest authority")
	ca.IsCA, ca.BasicConstraintsValid = true, true
	ca.KeyUsage = x509.KeyUsageCertSign
	caDER, err := x509.CreateCertificate(rand.Reader, ca, ca, &caKey.PublicKey, caKey)
	if err != nil {
		return nil, err
	}
	node := certificate(2, "weedtest")
	node.KeyUsage = x509.KeyUsageDigitalSignature
	node.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	node.DNSNames = []string{"localhost"}
	node.IPAddresses = []net.IP{net.ParseIP(loopback)}
	nodeDER, err := x509.CreateCertificate(rand.Reader, node, ca, &key.PublicKey, caKey)
	if err != nil {
		return nil, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	caPEM := pemBlock("CERTIFICATE", caDER)
	certPEM, keyPEM := pemBlock("CERTIFICATE", nodeDER), pemBlock("PRIVATE KEY", keyDER)
	if a.pair, err = tls.X509KeyPair(certPEM, keyPEM); err != nil {
		return nil, err
	}
	a.pool.AppendCertsFromPEM(caPEM)
	return a, errors.Join(
		os.WriteFile(a.caFile, caPEM, 0o600),
		os.WriteFile(a.certFile, certPEM, 0o600),
		os.WriteFile(a.keyFile, keyPEM, 0o600),
	)
}

func certificate(serial int64, name string) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(serial),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(24 * time.Hour),
	}
}

func pemBlock(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

func (a *authority) clientTLS() *tls.Config {
	return &tls.Config{RootCAs: a.pool, Certificates: []tls.Certificate{a.pair}, MinVersion: tls.VersionTLS12}
}
