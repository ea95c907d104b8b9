package cluster_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seaweedfs/seaweedfs/weed/pb/s3_lifecycle_pb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"weedlc/internal/cluster"
	"weedlc/pass"
)

// refusal dials and wants a ConnectError within the dial timeout.
func refusal(t *testing.T, o cluster.Options) *cluster.ConnectError {
	t.Helper()
	start := time.Now()
	c, err := cluster.Dial(t.Context(), o)
	if err == nil {
		c.Close()
		t.Fatal("dial succeeded")
	}
	if took := time.Since(start); took > o.DialTimeout+time.Second {
		t.Errorf("dial took %s", took)
	}
	refused, ok := errors.AsType[*cluster.ConnectError](err)
	if !ok {
		t.Fatalf("dial: %v (%T), want a ConnectError", err, err)
	}
	return refused
}

func want(t *testing.T, got *cluster.ConnectError, role cluster.Role, address, reason string) {
	t.Helper()
	if got.Role != role || got.Address != address || !strings.Contains(got.Reason, reason) {
		t.Errorf("refused with: %v\nwant %s %q … %s …", got, role, address, reason)
	}
	if text := got.Error(); strings.Contains(text, "rpc error") || strings.Contains(text, "desc =") {
		t.Errorf("error shows the wire: %s", text)
	}
}

func TestUnreachableServers(t *testing.T) {
	filer := serveFiler(t, &fakeFiler{})
	for _, tc := range []struct {
		name    string
		role    cluster.Role
		options func(*cluster.Options, string)
	}{
		{"master", cluster.Master, func(o *cluster.Options, a string) { o.Masters = []string{a} }},
		{"filer", cluster.Filer, func(o *cluster.Options, a string) { o.Filers = []string{a} }},
		{"gateway", cluster.Gateway, func(o *cluster.Options, a string) {
			o.Filers, o.Gateways, o.NeedGateway = []string{filer}, []string{a}, true
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			address := nobody(t)
			if tc.role != cluster.Gateway {
				address = dotted(address)
			}
			o := options(t)
			tc.options(&o, address)
			want(t, refusal(t, o), tc.role, address, "cannot be reached: dial tcp")
		})
	}
}

// A connection that nobody takes up is how a host that has gone away looks.
func TestSilentServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	o := options(t)
	o.DialTimeout = time.Second
	o.Filers = []string{dotted(l.Addr().String())}
	want(t, refusal(t, o), cluster.Filer, o.Filers[0], "does not answer")
}

func TestScenario59_WhatAServerSpeaks(t *testing.T) {
	ours, theirs := newAuthority(t), newAuthority(t)
	plain := serveFiler(t, &fakeFiler{})
	secure := serveFiler(t, &fakeFiler{}, tlsServer(ours.pair, ours.mutual))
	foreign := serveFiler(t, &fakeFiler{}, tlsServer(theirs.pair, theirs.mutual))
	web := httptest.NewServer(http.NotFoundHandler())
	defer web.Close()
	webAddress := dotted(strings.TrimPrefix(web.URL, "http://"))
	for _, tc := range []struct {
		name    string
		tls     bool
		address string
		reason  string
	}{
		{"both plain", false, plain, ""},
		{"both TLS", true, secure, ""},
		{"plain to TLS", false, secure, "speaks TLS, and this side plain text"},
		{"TLS to plain", true, plain, "speaks plain text, and"},
		{"TLS of another authority", true, foreign, "do not agree on TLS"},
		{"HTTP", false, webAddress, "speaks HTTP there, not gRPC"},
		{"TLS to HTTP", true, webAddress, "speaks HTTP there, not gRPC"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := options(t)
			if tc.tls {
				o.SecurityDirs = securityDir(t, ours.toml())
			}
			o.Filers = []string{tc.address}
			if tc.reason == "" {
				dial(t, o)
				return
			}
			refused := refusal(t, o)
			want(t, refused, cluster.Filer, tc.address, tc.reason)
			if refused.Hint == "" {
				t.Error("no hint")
			}
			if tc.tls && tc.address == plain && !strings.Contains(refused.Reason, filepath.Join(o.SecurityDirs[0], "security.toml")) {
				t.Errorf("reason %q does not name this side's configuration", refused.Reason)
			}
		})
	}
}

func TestScenario59_PlainTextStaysOnThisHost(t *testing.T) {
	filer := serveFiler(t, &fakeFiler{})
	o := options(t)
	// A documentation address (RFC 5737): nothing is there.
	o.Filers, o.NeedGateway, o.Gateways = []string{filer}, true, []string{"192.0.2.1:18333"}
	want(t, refusal(t, o), cluster.Gateway, "192.0.2.1:18333", "plain text to another host is refused")

	o.AllowPlaintext, o.DialTimeout = true, 500*time.Millisecond
	refused := refusal(t, o)
	if strings.Contains(refused.Reason, "plain text") {
		t.Errorf("allowed plain text is refused: %v", refused)
	}

	o.SecurityDirs = securityDir(t, newAuthority(t).toml())
	o.AllowPlaintext, o.Filers = false, []string{"192.0.2.1:8888"}
	if refused := refusal(t, o); strings.Contains(refused.Reason, "plain text") {
		t.Errorf("TLS is refused as plain text: %v", refused)
	}
}

func TestGatewayWithoutLifecycle(t *testing.T) {
	o := options(t)
	o.Filers, o.NeedGateway = []string{serveFiler(t, &fakeFiler{})}, true
	o.Gateways = []string{serve(t, func(*grpc.Server) {})}
	want(t, refusal(t, o), cluster.Gateway, o.Gateways[0], "has no lifecycle service")
}

func TestServerOfAnotherKind(t *testing.T) {
	address := dotted(serve(t, func(*grpc.Server) {}))
	o := options(t)
	o.Filers = []string{address}
	want(t, refusal(t, o), cluster.Filer, address, "is not a filer")
	o.Filers, o.Masters = nil, []string{address}
	want(t, refusal(t, o), cluster.Master, address, "is not a master")
}

func refusing(code codes.Code) grpc.ServerOption {
	return grpc.UnaryInterceptor(func(context.Context, any, *grpc.UnaryServerInfo, grpc.UnaryHandler) (any, error) {
		return nil, status.Error(code, "no entry")
	})
}

func TestRefusedAuthentication(t *testing.T) {
	const secret = "a-key-that-must-not-be-shown"
	for _, code := range []codes.Code{codes.Unauthenticated, codes.PermissionDenied} {
		for _, key := range []string{"", secret} {
			o := options(t)
			if key != "" {
				o.SecurityDirs = securityDir(t, "[jwt.filer_signing]\nkey = \""+key+"\"\n")
			}
			o.Filers, o.NeedGateway = []string{serveFiler(t, &fakeFiler{})}, true
			o.Gateways = []string{serveGateway(t, &fakeGateway{}, refusing(code))}
			refused := refusal(t, o)
			want(t, refused, cluster.Gateway, o.Gateways[0], "refuses us: no entry")
			if !strings.Contains(refused.Hint, "jwt.filer_signing.key") {
				t.Errorf("hint %q does not name the key", refused.Hint)
			}
			if strings.Contains(refused.Error()+refused.Hint, secret) {
				t.Error("the error shows the key")
			}
		}
	}
}

func TestBadAddresses(t *testing.T) {
	for _, address := range []string{"localhost", "localhost:", ":8888", "localhost:x", "localhost:0", "localhost:70000", "localhost:8888.", "localhost:8888.x", "localhost:.8888", "a:b:c"} {
		o := options(t)
		o.Filers = []string{address}
		if refused := refusal(t, o); refused.Address != address {
			t.Errorf("refused %q for %q", refused.Address, address)
		}
	}
}

func TestSecurityFileErrors(t *testing.T) {
	a := newAuthority(t)
	dir := filepath.Dir(a.ca)
	notPEM := filepath.Join(dir, "text.pem")
	if err := os.WriteFile(notPEM, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	section := func(grpc, client string) string { return "[grpc]\n" + grpc + "\n[grpc.client]\n" + client + "\n" }
	set := func(key, value string) string { return key + " = \"" + value + "\"\n" }
	for _, tc := range []struct{ name, text, want string }{
		{"not TOML", "[grpc", "cannot be read"},
		{"certificate without key", section(set("ca", a.ca), set("cert", a.cert)), "grpc.client.cert and grpc.client.key must both be set"},
		{"key without certificate", section(set("ca", a.ca), set("key", a.key)), "grpc.client.cert and grpc.client.key must both be set"},
		{"client key without certificate", section(set("ca", a.ca), set("client_key", a.key)), "grpc.client.client_cert and grpc.client.client_key must both be set"},
		{"no authority", section("", set("cert", a.cert)+set("key", a.key)), "grpc.ca is not set"},
		{"missing certificate", section(set("ca", a.ca), set("cert", "/none.pem")+set("key", a.key)), `certificate "/none.pem"`},
		{"missing authority", section(set("ca", "/none.pem"), set("cert", a.cert)+set("key", a.key)), "grpc.ca: open /none.pem"},
		{"authority without certificate", section(set("ca", notPEM), set("cert", a.cert)+set("key", a.key)), "no certificate in"},
		{"HTTPS client with a missing authority", "[https.client]\nenabled = true\nca = \"/none.pem\"\n", "https.client"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := options(t)
			o.SecurityDirs = securityDir(t, tc.text)
			o.Filers = []string{"localhost:1"}
			_, err := cluster.Dial(t.Context(), o)
			if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), o.SecurityDirs[0]) {
				t.Errorf("dial: %v\nwant the file and %q", err, tc.want)
			}
		})
	}
}

// The dedicated client certificate goes before the component's own.
func TestClientCertificate(t *testing.T) {
	ours, theirs := newAuthority(t), newAuthority(t)
	o := options(t)
	o.SecurityDirs = securityDir(t, theirs.toml()+"client_cert = \""+ours.cert+"\"\nclient_key = \""+ours.key+"\"\n")
	text, err := os.ReadFile(filepath.Join(o.SecurityDirs[0], "security.toml"))
	if err != nil {
		t.Fatal(err)
	}
	o.SecurityDirs = securityDir(t, strings.Replace(string(text), theirs.ca, ours.ca, 1))
	o.Filers = []string{serveFiler(t, &fakeFiler{}, tlsServer(ours.pair, ours.mutual))}
	dial(t, o)
}

func TestEnvironmentOverridesSecurityFile(t *testing.T) {
	a := newAuthority(t)
	t.Setenv("WEED_GRPC_CA", a.ca)
	t.Setenv("WEED_GRPC_CLIENT_CERT", a.cert)
	t.Setenv("WEED_GRPC_CLIENT_KEY", a.key)
	o := options(t)
	o.Filers = []string{serveFiler(t, &fakeFiler{}, tlsServer(a.pair, a.mutual))}
	dial(t, o)
}

func TestServersFromTheMaster(t *testing.T) {
	filer, gate := serveFiler(t, &fakeFiler{}), serveGateway(t, &fakeGateway{})
	var asked atomic.Int32
	leader := &fakeMaster{nodes: func(kind string) []string {
		if asked.Add(1) < 4 {
			return nil // registered some seconds after it answers
		}
		return map[string][]string{"filer": {filer}, "s3": {gate}}[kind]
	}}
	follower := &fakeMaster{leader: serveMaster(t, leader)}
	o := options(t)
	o.RegisterTimeout = time.Minute
	o.Masters, o.NeedGateway = []string{dotted(nobody(t)), serveMaster(t, follower)}, true
	dial(t, o)
}

func TestNothingRegistered(t *testing.T) {
	filer := serveFiler(t, &fakeFiler{})
	for _, tc := range []struct {
		name  string
		nodes map[string][]string
		want  string
	}{
		{"no filer", nil, "filers"},
		{"no gateway", map[string][]string{"filer": {filer}}, "S3 gateways"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := options(t)
			o.NeedGateway, o.FilerGroup = true, "g"
			o.Masters = []string{serveMaster(t, &fakeMaster{nodes: func(kind string) []string { return tc.nodes[kind] }})}
			_, err := cluster.Dial(t.Context(), o)
			if !errors.Is(err, cluster.ErrNoServers) {
				t.Fatalf("dial: %v", err)
			}
			for _, word := range []string{tc.want, `group "g"`, o.Masters[0]} {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("error %q does not name %q", err, word)
				}
			}
		})
	}
}

func TestNoMasterNoFiler(t *testing.T) {
	if _, err := cluster.Dial(t.Context(), options(t)); err == nil {
		t.Error("dial without addresses succeeded")
	}
}

func TestFilersOfTwoStores(t *testing.T) {
	o := options(t)
	o.Filers = []string{serveFiler(t, &fakeFiler{signature: 1}), serveFiler(t, &fakeFiler{signature: 2})}
	want(t, refusal(t, o), cluster.Filer, o.Filers[1], "does not share its store")
	o.Filers = []string{serveFiler(t, &fakeFiler{signature: 1}), serveFiler(t, &fakeFiler{signature: 1})}
	dial(t, o)
}

// A filer that was given by name and is away is left out; one that the master
// names may have a log of its own.
func TestOneFilerOfTwoIsAway(t *testing.T) {
	alive, away := serveFiler(t, &fakeFiler{}), dotted(nobody(t))
	o := options(t)
	o.Filers = []string{away, alive}
	if _, err := dial(t, o).Now(t.Context()); err != nil {
		t.Errorf("now: %v", err)
	}
	o.Filers = nil
	o.Masters = []string{serveMaster(t, &fakeMaster{nodes: func(string) []string { return []string{alive, away} }})}
	want(t, refusal(t, o), cluster.Filer, away, "cannot be reached")
}

func TestOneGatewayOfTwoIsAway(t *testing.T) {
	o := options(t)
	o.Filers, o.NeedGateway = []string{serveFiler(t, &fakeFiler{})}, true
	o.Gateways = []string{nobody(t), serveGateway(t, &fakeGateway{
		delete: func(context.Context, *s3_lifecycle_pb.LifecycleDeleteRequest) (*s3_lifecycle_pb.LifecycleDeleteResponse, error) {
			return &s3_lifecycle_pb.LifecycleDeleteResponse{Outcome: s3_lifecycle_pb.LifecycleDeleteOutcome_DONE}, nil
		},
	})}
	c := dial(t, o)
	for range 3 {
		if _, err := c.Delete(t.Context(), pass.DeleteRequest{Bucket: "b", Path: "k"}); err != nil {
			t.Errorf("delete: %v", err)
		}
	}
}
