package cluster_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// authority is a throwaway certificate authority and one certificate of it for
// 127.0.0.1, in files.
type authority struct {
	ca, cert, key string
	pair          tls.Certificate
	pool          *x509.CertPool
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	dir := t.TempDir()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	write := func(name, kind string, der []byte) string {
		t.Helper()
		file := filepath.Join(dir, name)
		check(os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
		return file
	}
	template := func(name string, serial int64) *x509.Certificate {
		return &x509.Certificate{
			SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: name},
			NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		}
	}
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(err)
	ca := template("authority", 1)
	ca.IsCA, ca.BasicConstraintsValid, ca.KeyUsage = true, true, x509.KeyUsageCertSign
	caDER, err := x509.CreateCertificate(rand.Reader, ca, ca, &caKey.PublicKey, caKey)
	check(err)

	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(err)
	leaf := template("127.0.0.1", 2)
	leaf.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	leaf.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	leafDER, err := x509.CreateCertificate(rand.Reader, leaf, ca, &key.PublicKey, caKey)
	check(err)
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	check(err)

	a := &authority{
		ca:   write("ca.pem", "CERTIFICATE", caDER),
		cert: write("cert.pem", "CERTIFICATE", leafDER),
		key:  write("key.pem", "PRIVATE KEY", keyDER),
		pool: x509.NewCertPool(),
	}
	caCert, err := x509.ParseCertificate(caDER)
	check(err)
	a.pool.AddCert(caCert)
	a.pair, err = tls.LoadX509KeyPair(a.cert, a.key)
	check(err)
	return a
}

// mutual makes a server ask for a client certificate of the authority.
func (a *authority) mutual(c *tls.Config) {
	c.ClientAuth, c.ClientCAs = tls.RequireAndVerifyClientCert, a.pool
}

// toml is the client's part of a security.toml.
func (a *authority) toml() string {
	return fmt.Sprintf("[grpc]\nca = %q\n[grpc.client]\ncert = %q\nkey = %q\n", a.ca, a.cert, a.key)
}

// securityDir is a directory with a security.toml.
func securityDir(t *testing.T, text string) []string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "security.toml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{dir}
}
