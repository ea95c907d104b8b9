package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seaweedfs/seaweedfs/weed/pb/filer_pb"
	"github.com/seaweedfs/seaweedfs/weed/pb/master_pb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"weedlc/engine"
	"weedlc/internal/cluster"
)

// goodFiler is a filer that has everything, but for what a test takes away.
type goodFiler struct {
	fakeFiler
	conf *filer_pb.GetFilerConfigurationResponse
	// ahead is how far its clock is ahead.
	ahead time.Duration

	mu      sync.Mutex
	methods []string
	tokens  []string
}

func newGoodFiler() *goodFiler {
	f := &goodFiler{conf: &filer_pb.GetFilerConfigurationResponse{Version: "30GB 4.53 d3b1f0a", Signature: 7, DirBuckets: "/data/buckets"}}
	f.lock = func(r *filer_pb.LockRequest) *filer_pb.LockResponse {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.tokens = append(f.tokens, r.RenewToken)
		return lockError("lock: non-empty token on a new lock")
	}
	f.lookup = func(*filer_pb.LookupDirectoryEntryRequest) (*filer_pb.LookupDirectoryEntryResponse, error) {
		return &filer_pb.LookupDirectoryEntryResponse{Entry: &filer_pb.Entry{IsDirectory: true}}, nil
	}
	return f
}

func (f *goodFiler) GetFilerConfiguration(context.Context, *filer_pb.GetFilerConfigurationRequest) (*filer_pb.GetFilerConfigurationResponse, error) {
	return f.conf, nil
}

func (f *goodFiler) Ping(context.Context, *filer_pb.PingRequest) (*filer_pb.PingResponse, error) {
	return &filer_pb.PingResponse{StartTimeNs: time.Now().Add(f.ahead).UnixNano()}, nil
}

// serve runs the filer and its HTTP interface, and returns the filer's address.
func (f *goodFiler) serve(t *testing.T, o ...grpc.ServerOption) string {
	t.Helper()
	note := grpc.UnaryInterceptor(func(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		f.mu.Lock()
		f.methods = append(f.methods, path.Base(info.FullMethod))
		f.mu.Unlock()
		return next(ctx, req)
	})
	grpcAddress := serve(t, func(s *grpc.Server) { filer_pb.RegisterSeaweedFilerServer(s, f) }, append(o, note)...)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			t.Errorf("HTTP %s", r.Method)
		}
		if r.Header.Get("Authorization") == "" {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	t.Cleanup(web.Close)
	_, port, err := net.SplitHostPort(grpcAddress)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(web.URL, "http://") + "." + port
}

// withVersions names servers as a master does.
type withVersions struct {
	fakeMaster
}

func (m *withVersions) ListClusterNodes(ctx context.Context, r *master_pb.ListClusterNodesRequest) (*master_pb.ListClusterNodesResponse, error) {
	resp, err := m.fakeMaster.ListClusterNodes(ctx, r)
	for _, n := range resp.GetClusterNodes() {
		n.Version = "30GB 4.53 "
	}
	return resp, err
}

func serveKnowing(t *testing.T, filers, gateways []string) string {
	t.Helper()
	m := &withVersions{fakeMaster{nodes: func(kind string) []string { return map[string][]string{"filer": filers, "s3": gateways}[kind] }}}
	return dotted(serve(t, func(s *grpc.Server) { master_pb.RegisterSeaweedServer(s, m) }))
}

// probe asks with short time limits; readable has the token that the HTTP
// interface wants.
func probe(t *testing.T, o cluster.Options) cluster.Survey {
	t.Helper()
	start := time.Now()
	s := cluster.Probe(t.Context(), o)
	if took := time.Since(start); took > 2*o.DialTimeout {
		t.Errorf("the probe took %s", took)
	}
	return s
}

const readKey = "[jwt.filer_signing.read]\nkey = \"the-read-key\"\n"

// refused wants a ConnectError.
func refused(t *testing.T, err error, role cluster.Role, address, reason string) {
	t.Helper()
	e, ok := errors.AsType[*cluster.ConnectError](err)
	if !ok {
		t.Fatalf("error is %v, want a ConnectError", err)
	}
	want(t, e, role, address, reason)
}

func TestProbeOfAHealthyCluster(t *testing.T) {
	f := newGoodFiler()
	filer, gate := f.serve(t), serveGateway(t, &fakeGateway{})
	o := options(t)
	o.SecurityDirs = securityDir(t, readKey)
	o.Masters = []string{serveKnowing(t, []string{filer}, []string{gate})}
	s := probe(t, o)
	if m := s.Masters[0]; m.Err != nil || !slices.Equal(m.Filers, []string{filer}) || !slices.Equal(m.Gateways, []string{gate}) || m.Address != o.Masters[0] {
		t.Errorf("master: %+v", m)
	}
	if s.Security.Err != nil || s.Security.File != o.SecurityDirs[0]+"/security.toml" || s.Security.TLS || s.Security.SigningKey {
		t.Errorf("security: %+v", s.Security)
	}
	got := s.Filers[0]
	for _, err := range []error{got.Err, got.ClockErr, got.LocksErr, got.BucketsErr, got.HTTPErr} {
		if err != nil {
			t.Error(err)
		}
	}
	if got.Address != filer || got.Version != "4.53" || got.Signature != 7 || got.BucketsDir != "/data/buckets" || len(got.Held) != 0 {
		t.Errorf("filer: %+v", got)
	}
	if got.Ahead.Abs() > time.Second || got.Within <= 0 || got.Within > time.Second {
		t.Errorf("clock is ahead by %s, within %s", got.Ahead, got.Within)
	}
	if g := s.Gateways[0]; g.Err != nil || g.Address != gate || g.Version != "4.53" {
		t.Errorf("gateway: %+v", g)
	}

	// Nothing was changed: no lock is taken by a token that renews none.
	f.mu.Lock()
	defer f.mu.Unlock()
	slices.Sort(f.methods)
	if got := fmt.Sprint(slices.Compact(f.methods)); got != "[DistributedLock GetFilerConfiguration LookupDirectoryEntry Ping]" {
		t.Errorf("methods called: %s", got)
	}
	if len(f.tokens) != engine.ShardCount || slices.Contains(f.tokens, "") {
		t.Errorf("tokens of the lock requests: %q", f.tokens)
	}
}

func TestProbeHidesNoFaultBehindAnother(t *testing.T) {
	filer, gate := newGoodFiler().serve(t), serveGateway(t, &fakeGateway{})
	away, gone, dead := dotted(nobody(t)), dotted(nobody(t)), nobody(t)
	noService := serve(t, func(*grpc.Server) {})
	keyless := serveGateway(t, &fakeGateway{}, refusing(codes.Unauthenticated))
	o := options(t)
	o.Masters = []string{away, serveKnowing(t, []string{filer, gone}, []string{gate, dead, noService, keyless})}
	s := probe(t, o)
	refused(t, s.Masters[0].Err, cluster.Master, away, "cannot be reached")
	if s.Masters[1].Err != nil {
		t.Error(s.Masters[1].Err)
	}
	for _, f := range s.Filers {
		if f.Address == filer {
			if f.Err != nil {
				t.Error(f.Err)
			}
			continue
		}
		refused(t, f.Err, cluster.Filer, gone, "cannot be reached")
	}
	reasons := map[string]string{dead: "cannot be reached", noService: "has no lifecycle service", keyless: "refuses us"}
	for _, g := range s.Gateways {
		if g.Address == gate {
			if g.Err != nil {
				t.Error(g.Err)
			}
			continue
		}
		refused(t, g.Err, cluster.Gateway, g.Address, reasons[g.Address])
	}
	if len(s.Filers) != 2 || len(s.Gateways) != 4 {
		t.Errorf("%d filers, %d gateways", len(s.Filers), len(s.Gateways))
	}
}

func TestProbeOfWhatIsGiven(t *testing.T) {
	filer, gate := newGoodFiler().serve(t), serveGateway(t, &fakeGateway{})
	knows := serveKnowing(t, []string{dotted(nobody(t))}, []string{nobody(t)})
	for _, tc := range []struct {
		name             string
		filers, gateways []string
		masters          int
		want             string
	}{
		{"both", []string{filer}, []string{gate}, 0, "true true"},
		{"filers", []string{filer}, nil, 1, "true false"},
		{"gateways", nil, []string{gate}, 1, "false true"},
	} {
		o := options(t)
		o.Masters, o.Filers, o.Gateways = []string{knows}, tc.filers, tc.gateways
		s := probe(t, o)
		got := fmt.Sprint(s.Filers[0].Err == nil, s.Gateways[0].Err == nil)
		if len(s.Masters) != tc.masters || got != tc.want {
			t.Errorf("%s: %d masters asked, good are %s, want %d and %s", tc.name, len(s.Masters), got, tc.masters, tc.want)
		}
	}
}

func TestProbeOfNothing(t *testing.T) {
	o := options(t)
	o.Masters = []string{serveKnowing(t, nil, nil)}
	if s := probe(t, o); len(s.Masters) != 1 || s.Masters[0].Err != nil || len(s.Filers)+len(s.Gateways) != 0 {
		t.Errorf("survey of a lone master: %+v", s)
	}
	o.Masters = []string{dotted(nobody(t))}
	if s := probe(t, o); s.Masters[0].Err == nil || len(s.Filers)+len(s.Gateways) != 0 {
		t.Errorf("survey of no master: %+v", s)
	}
	o.SecurityDirs = securityDir(t, "[grpc")
	if s := probe(t, o); s.Security.Err == nil || len(s.Masters) != 0 {
		t.Errorf("survey with a broken security.toml: %+v", s)
	}
}

func TestScenario59_ProbeOfTLS(t *testing.T) {
	a := newAuthority(t)
	gate := &fakeGateway{}
	plain, secure := newGoodFiler().serve(t), newGoodFiler().serve(t, tlsServer(a.pair, a.mutual))
	plainGate, secureGate := serveGateway(t, gate), serveGateway(t, gate, tlsServer(a.pair, a.mutual))
	const wantsTLS, wantsPlain = "speaks TLS, and this side plain text", "speaks plain text, and"
	o := options(t)
	o.Filers, o.Gateways = []string{plain, secure}, []string{plainGate, secureGate}
	s := probe(t, o)
	refused(t, s.Filers[1].Err, cluster.Filer, secure, wantsTLS)
	refused(t, s.Gateways[1].Err, cluster.Gateway, secureGate, wantsTLS)
	if s.Filers[0].Err != nil || s.Gateways[0].Err != nil {
		t.Error(s.Filers[0].Err, s.Gateways[0].Err)
	}
	o.SecurityDirs = securityDir(t, a.toml()+"[jwt.filer_signing]\nkey = \"k\"\n")
	s = probe(t, o)
	refused(t, s.Filers[0].Err, cluster.Filer, plain, wantsPlain)
	refused(t, s.Gateways[0].Err, cluster.Gateway, plainGate, wantsPlain)
	if s.Filers[1].Err != nil || s.Gateways[1].Err != nil || !s.Security.TLS || !s.Security.SigningKey {
		t.Error(s.Filers[1].Err, s.Gateways[1].Err, s.Security)
	}
}

func TestProbeOfAFilersFaults(t *testing.T) {
	lock := func(answers ...*filer_pb.LockResponse) func(f *goodFiler) {
		return func(f *goodFiler) {
			f.lock = func(r *filer_pb.LockRequest) *filer_pb.LockResponse {
				return map[string]*filer_pb.LockResponse{"s3.lifecycle.shard-03": answers[0], "s3.lifecycle.shard-05": answers[len(answers)-1]}[r.Name]
			}
			one := f.lock
			f.lock = func(r *filer_pb.LockRequest) *filer_pb.LockResponse {
				if a := one(r); a != nil {
					return a
				}
				return lockError("lock: non-empty token on an expired lock")
			}
		}
	}
	missing := func(*filer_pb.LookupDirectoryEntryRequest) (*filer_pb.LookupDirectoryEntryResponse, error) {
		return nil, filer_pb.ErrNotFound
	}
	for _, tc := range []struct {
		name  string
		spoil func(f *goodFiler)
		check func(s cluster.FilerState) bool
	}{
		{"ahead", func(f *goodFiler) { f.ahead = time.Hour }, func(s cluster.FilerState) bool { return (s.Ahead - time.Hour).Abs() <= s.Within+time.Second }},
		{"behind", func(f *goodFiler) { f.ahead = -time.Hour }, func(s cluster.FilerState) bool { return (s.Ahead + time.Hour).Abs() <= s.Within+time.Second }},
		{"no lock service", lock(lockError("no lock server found")), func(s cluster.FilerState) bool {
			return errors.Is(s.LocksErr, cluster.ErrNoLockServer) && strings.Contains(s.LocksErr.Error(), "no lock server found")
		}},
		{"held", lock(
			&filer_pb.LockResponse{Error: "lock: token mismatch", LockOwner: "weedlc cron1 4711 2030-06-15T12:00:00Z"},
			&filer_pb.LockResponse{Error: "lock: token mismatch", LockOwner: "somebody"}),
			func(s cluster.FilerState) bool {
				return s.LocksErr == nil && len(s.Held) == 2 && s.Held[0].Shard == 3 && s.Held[0].Owner.PID == 4711 && s.Held[1].Shard == 5 && s.Held[1].Text == "somebody"
			}},
		{"no folder", func(f *goodFiler) { f.lookup = missing }, func(s cluster.FilerState) bool { return errors.Is(s.BucketsErr, engine.ErrNotFound) }},
		{"a file", func(f *goodFiler) {
			f.lookup = func(*filer_pb.LookupDirectoryEntryRequest) (*filer_pb.LookupDirectoryEntryResponse, error) {
				return &filer_pb.LookupDirectoryEntryResponse{Entry: &filer_pb.Entry{Name: "buckets"}}, nil
			}
		}, func(s cluster.FilerState) bool {
			return s.BucketsErr != nil && strings.Contains(s.BucketsErr.Error(), "is a file")
		}},
		{"no names", func(f *goodFiler) { f.conf = &filer_pb.GetFilerConfigurationResponse{} }, func(s cluster.FilerState) bool { return s.Version == "" && s.BucketsDir == "/buckets" }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newGoodFiler()
			tc.spoil(f)
			o := options(t)
			o.SecurityDirs = securityDir(t, readKey)
			o.Filers, o.Gateways = []string{f.serve(t)}, []string{nobody(t)}
			s := probe(t, o).Filers[0]
			if s.Err != nil || !tc.check(s) {
				t.Errorf("state is %+v", s)
			}
			// One fault is one finding.
			faults := 0
			for _, err := range []error{s.ClockErr, s.LocksErr, s.BucketsErr, s.HTTPErr} {
				if err != nil {
					faults++
				}
			}
			if faults > 1 {
				t.Errorf("%d faults: %+v", faults, s)
			}
		})
	}
}

func TestProbeLooksForTheFolderWhereItIs(t *testing.T) {
	for folder, want := range map[string]string{"/buckets": "/ buckets", "/data/s3": "/data s3"} {
		f := newGoodFiler()
		f.conf.DirBuckets = folder
		asked := make(chan string, 1)
		f.lookup = func(r *filer_pb.LookupDirectoryEntryRequest) (*filer_pb.LookupDirectoryEntryResponse, error) {
			asked <- r.Directory + " " + r.Name
			return &filer_pb.LookupDirectoryEntryResponse{Entry: &filer_pb.Entry{IsDirectory: true}}, nil
		}
		o := options(t)
		o.Filers, o.Gateways = []string{f.serve(t)}, []string{nobody(t)}
		probe(t, o)
		if got := <-asked; got != want {
			t.Errorf("folder %q: asked for %q, want %q", folder, got, want)
		}
	}
}

func TestProbeOfAFilersHTTPInterface(t *testing.T) {
	o := options(t)
	o.Filers, o.Gateways = []string{newGoodFiler().serve(t)}, []string{nobody(t)}
	if err := probe(t, o).Filers[0].HTTPErr; err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("without the read key: %v", err)
	}
}

// A server that takes connections and is silent holds nothing up for longer
// than its time.
func TestProbeOfASilentCluster(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	silent := l.Addr().String()
	o := options(t)
	o.DialTimeout = time.Second
	o.Masters, o.Filers = []string{dotted(silent)}, []string{dotted(silent), newGoodFiler().serve(t)}
	s := probe(t, o)
	refused(t, s.Masters[0].Err, cluster.Master, dotted(silent), "does not answer")
	refused(t, s.Filers[0].Err, cluster.Filer, dotted(silent), "does not answer")
	if s.Filers[1].Err != nil {
		t.Error(s.Filers[1].Err)
	}
}
