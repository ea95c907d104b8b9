package cluster

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/seaweedfs/seaweedfs/weed/security"
	"github.com/seaweedfs/seaweedfs/weed/util"
	httpclient "github.com/seaweedfs/seaweedfs/weed/util/http/client"
	"github.com/spf13/viper"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// The sections of security.toml that this process is: the one that weed shell
// uses for all its connections, and the one by which weed worker knows its
// admin server.
const (
	clientComponent = "grpc.client"
	workerComponent = "grpc.worker"
)

// SecurityDirs are where weed looks for security.toml, in its order.
func SecurityDirs() []string {
	return []string{".", "$HOME/.seaweedfs", "/usr/local/etc/seaweedfs/", "/etc/seaweedfs/"}
}

// credentials are what security.toml says of this process.
type credentials struct {
	// component is the section that the certificate is from.
	component string
	// file is the configuration that was read; empty when there is none.
	file string
	// tls is set when connections are made with a client certificate.
	tls  bool
	dial grpc.DialOption

	signingKey     security.SigningKey
	signingExpires int // seconds; 0 is no expiry
	readKey        security.SigningKey
	readExpires    int
	https          bool
	http           httpDoer
	// siteUser and sitePassword are for the admin server's web interface.
	siteUser, sitePassword string
}

type httpDoer interface {
	Do(*http.Request) (*http.Response, error)
}

// loadCredentials reads the first security.toml of the directories, and the
// WEED_ variables that override it, as weed does. No file is plain text
// without a signing key.
func loadCredentials(dirs []string, component string) (*credentials, error) {
	v := viper.New()
	v.SetConfigName("security")
	for _, dir := range dirs {
		v.AddConfigPath(dir)
	}
	v.AutomaticEnv()
	v.SetEnvPrefix("weed")
	v.SetEnvKeyReplacer(strings.NewReplacer(".", "_"))

	var missing viper.ConfigFileNotFoundError
	if err := v.ReadInConfig(); err != nil && !errors.As(err, &missing) {
		return nil, fmt.Errorf("%q cannot be read: %w", v.ConfigFileUsed(), err)
	}
	c := &credentials{component: component, file: v.ConfigFileUsed()}
	conf := util.NewViperProxy(v)

	var err error
	if c.tls, err = checkCertificates(conf, component); err != nil {
		return nil, fmt.Errorf("%s: %w", c.source(), err)
	}
	c.dial = security.LoadClientTLS(conf, component)

	c.signingKey = security.SigningKey(conf.GetString("jwt.filer_signing.key"))
	c.signingExpires = conf.GetInt("jwt.filer_signing.expires_after_seconds")
	c.readKey = security.SigningKey(conf.GetString("jwt.filer_signing.read.key"))
	c.readExpires = conf.GetInt("jwt.filer_signing.read.expires_after_seconds")

	c.siteUser, c.sitePassword = conf.GetString("admin.readonly.user"), conf.GetString("admin.readonly.password")
	if c.sitePassword == "" {
		c.siteUser, c.sitePassword = cmp.Or(conf.GetString("admin.user"), "admin"), conf.GetString("admin.password")
	}

	c.http = http.DefaultClient
	if c.https = conf.GetBool("https.client.enabled"); c.https {
		c.http, err = httpclient.NewHttpClientWithTLS(conf.GetString("https.client.cert"), conf.GetString("https.client.key"),
			conf.GetString("https.client.ca"), conf.GetBool("https.client.insecure_skip_verify"), httpclient.AddDialContext)
		if err != nil {
			return nil, fmt.Errorf("%s: https.client: %w", c.source(), err)
		}
	}
	return c, nil
}

// checkCertificates finds what would make SeaweedFS's TLS loader end the
// process, and reports whether a client certificate is configured.
func checkCertificates(conf *util.ViperProxy, component string) (bool, error) {
	pair := func(certKey, keyKey string) (cert, key string, err error) {
		cert, key = conf.GetString(component+certKey), conf.GetString(component+keyKey)
		if (cert == "") != (key == "") {
			return "", "", fmt.Errorf("%s%s and %s%s must both be set", component, certKey, component, keyKey)
		}
		return cert, key, nil
	}
	cert, key, err := pair(".client_cert", ".client_key")
	if err != nil {
		return false, err
	}
	if cert == "" {
		if cert, key, err = pair(".cert", ".key"); err != nil || cert == "" {
			return false, err
		}
	}
	ca := conf.GetString("grpc.ca")
	if ca == "" {
		return false, fmt.Errorf("%s has a certificate, but grpc.ca is not set", component)
	}
	if _, err := tls.LoadX509KeyPair(cert, key); err != nil {
		return false, fmt.Errorf("certificate %q: %w", cert, err)
	}
	pem, err := os.ReadFile(ca)
	if err != nil {
		return false, fmt.Errorf("grpc.ca: %w", err)
	}
	if !x509.NewCertPool().AppendCertsFromPEM(pem) {
		return false, fmt.Errorf("grpc.ca: no certificate in %q", ca)
	}
	return true, nil
}

// source names the configuration in messages.
func (c *credentials) source() string {
	if c.file == "" {
		return "security configuration"
	}
	return fmt.Sprintf("%q", c.file)
}

// admin adds the bearer token that a gateway asks of whoever deletes, when a
// signing key is configured. The token is made anew for each call: it may
// live for seconds only.
func (c *credentials) admin(ctx context.Context) context.Context {
	md := security.GrpcAdminPeerCredentials(c.signingKey, c.signingExpires)
	if md == nil {
		return ctx
	}
	return metadata.NewOutgoingContext(ctx, md)
}

// authorize adds the token that the filer's HTTP interface asks of a reader.
func (c *credentials) authorize(r *http.Request) {
	if token := security.GenJwtForFilerServer(c.readKey, c.readExpires); token != "" {
		r.Header.Set("Authorization", security.BearerPrefix+string(token))
	}
}
