package cluster_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weedlc/internal/cluster"
	"weedlc/internal/weedtest"
	"weedlc/pass"
)

// A server with mutual TLS and a signing key, both from security.toml.
func TestScenario59_RealServerWithTLSAndKey(t *testing.T) {
	t.Parallel()
	server := weedtest.New(t, weedtest.Config{TLS: true, SigningKey: "the-key-of-the-test"})
	o := options(t)
	o.RegisterTimeout = 10 * time.Second
	o.SecurityDirs = []string{server.Dir()}
	o.Masters, o.NeedGateway = []string{server.Addr(weedtest.Master).String()}, true
	c := dial(t, o)
	resp, err := c.Delete(t.Context(), pass.DeleteRequest{Bucket: "none", Path: "k"})
	if err != nil || resp.Outcome != pass.NoopResolved {
		t.Errorf("delete: %v, %v", resp, err)
	}
	if _, err := c.Files("/etc/test").Write(t.Context(), "f", []byte("x"), ""); err != nil {
		t.Errorf("write: %v", err)
	}
	held, err := c.LockShards(t.Context(), []int{1}, owner(1), 0)
	if err != nil {
		t.Fatal(err)
	}
	held.Release()

	for _, tc := range []struct {
		name, security string
		role           cluster.Role
		reason         string
	}{
		{"plain text", "", cluster.Master, "speaks TLS, and this side plain text"},
		{"another authority", newAuthority(t).toml(), cluster.Master, "do not agree on TLS"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o.SecurityDirs = securityDir(t, tc.security)
			want(t, refusal(t, o), tc.role, o.Masters[0], tc.reason)
		})
	}
	t.Run("another key", func(t *testing.T) {
		right, err := os.ReadFile(filepath.Join(server.Dir(), "security.toml"))
		if err != nil {
			t.Fatal(err)
		}
		o.SecurityDirs = securityDir(t, strings.Replace(string(right), "the-key-of-the-test", "not-the-key", 1))
		refused := refusal(t, o)
		want(t, refused, cluster.Gateway, server.Addr(weedtest.Gateway).GRPC(), "refuses us")
		if strings.Contains(refused.Error()+refused.Hint, "not-the-key") {
			t.Error("the error shows the key")
		}
	})
}

func TestRealFilersOfTwoStores(t *testing.T) {
	t.Parallel()
	server := weedtest.New(t, weedtest.Config{SecondFiler: true})
	o := options(t)
	o.SecurityDirs = []string{server.Dir()}
	o.RegisterTimeout = 10 * time.Second
	o.Masters = []string{server.Addr(weedtest.Master).String()}
	if refused := refusal(t, o); refused.Role != cluster.Filer || !strings.Contains(refused.Reason, "does not share its store") {
		t.Errorf("refused with: %v", refused)
	}
}
