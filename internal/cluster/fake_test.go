package cluster_test

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seaweedfs/seaweedfs/weed/pb/filer_pb"
	"github.com/seaweedfs/seaweedfs/weed/pb/master_pb"
	"github.com/seaweedfs/seaweedfs/weed/pb/s3_lifecycle_pb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"weedlc/internal/cluster"
)

// fakeFiler answers with its functions; a call without one is not implemented,
// except for the configuration.
type fakeFiler struct {
	filer_pb.UnimplementedSeaweedFilerServer
	signature int32
	configure func(context.Context) error
	ping      func(context.Context) error
	subscribe func(*filer_pb.SubscribeMetadataRequest, grpc.ServerStreamingServer[filer_pb.SubscribeMetadataResponse]) error
	lock      func(*filer_pb.LockRequest) *filer_pb.LockResponse
	unlock    func(*filer_pb.UnlockRequest)
	lookup    func(*filer_pb.LookupDirectoryEntryRequest) (*filer_pb.LookupDirectoryEntryResponse, error)
	create    func(*filer_pb.CreateEntryRequest) (*filer_pb.CreateEntryResponse, error)
	list      func(*filer_pb.ListEntriesRequest, grpc.ServerStreamingServer[filer_pb.ListEntriesResponse]) error
}

func (f *fakeFiler) GetFilerConfiguration(ctx context.Context, _ *filer_pb.GetFilerConfigurationRequest) (*filer_pb.GetFilerConfigurationResponse, error) {
	if f.configure != nil {
		if err := f.configure(ctx); err != nil {
			return nil, err
		}
	}
	return &filer_pb.GetFilerConfigurationResponse{Signature: f.signature}, nil
}

func (f *fakeFiler) Ping(ctx context.Context, r *filer_pb.PingRequest) (*filer_pb.PingResponse, error) {
	if f.ping != nil {
		if err := f.ping(ctx); err != nil {
			return nil, err
		}
	}
	return &filer_pb.PingResponse{StartTimeNs: int64(f.signature)}, nil
}

func (f *fakeFiler) SubscribeMetadata(r *filer_pb.SubscribeMetadataRequest, s grpc.ServerStreamingServer[filer_pb.SubscribeMetadataResponse]) error {
	return f.subscribe(r, s)
}

func (f *fakeFiler) DistributedLock(_ context.Context, r *filer_pb.LockRequest) (*filer_pb.LockResponse, error) {
	return f.lock(r), nil
}

func (f *fakeFiler) DistributedUnlock(_ context.Context, r *filer_pb.UnlockRequest) (*filer_pb.UnlockResponse, error) {
	if f.unlock != nil {
		f.unlock(r)
	}
	return &filer_pb.UnlockResponse{}, nil
}

func (f *fakeFiler) LookupDirectoryEntry(_ context.Context, r *filer_pb.LookupDirectoryEntryRequest) (*filer_pb.LookupDirectoryEntryResponse, error) {
	return f.lookup(r)
}

func (f *fakeFiler) CreateEntry(_ context.Context, r *filer_pb.CreateEntryRequest) (*filer_pb.CreateEntryResponse, error) {
	return f.create(r)
}

func (f *fakeFiler) ListEntries(r *filer_pb.ListEntriesRequest, s grpc.ServerStreamingServer[filer_pb.ListEntriesResponse]) error {
	return f.list(r, s)
}

type fakeGateway struct {
	s3_lifecycle_pb.UnimplementedSeaweedS3LifecycleInternalServer
	delete func(context.Context, *s3_lifecycle_pb.LifecycleDeleteRequest) (*s3_lifecycle_pb.LifecycleDeleteResponse, error)
}

func (g *fakeGateway) LifecycleDelete(ctx context.Context, r *s3_lifecycle_pb.LifecycleDeleteRequest) (*s3_lifecycle_pb.LifecycleDeleteResponse, error) {
	if r.Bucket == "" {
		return &s3_lifecycle_pb.LifecycleDeleteResponse{Outcome: s3_lifecycle_pb.LifecycleDeleteOutcome_BLOCKED}, nil
	}
	return g.delete(ctx, r)
}

type fakeMaster struct {
	master_pb.UnimplementedSeaweedServer
	leader string
	nodes  func(kind string) []string
}

func (m *fakeMaster) GetMasterConfiguration(context.Context, *master_pb.GetMasterConfigurationRequest) (*master_pb.GetMasterConfigurationResponse, error) {
	return &master_pb.GetMasterConfigurationResponse{Leader: m.leader}, nil
}

func (m *fakeMaster) ListClusterNodes(_ context.Context, r *master_pb.ListClusterNodesRequest) (*master_pb.ListClusterNodesResponse, error) {
	resp := &master_pb.ListClusterNodesResponse{}
	if m.nodes == nil {
		return resp, nil
	}
	for _, address := range m.nodes(r.ClientType) {
		resp.ClusterNodes = append(resp.ClusterNodes, &master_pb.ListClusterNodesResponse_ClusterNode{Address: address})
	}
	return resp, nil
}

// serve runs a gRPC server on loopback until the test ends and returns its
// gRPC address.
func serve(t *testing.T, register func(*grpc.Server), o ...grpc.ServerOption) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer(o...)
	register(s)
	var served sync.WaitGroup
	served.Go(func() { _ = s.Serve(l) }) // ends with Stop
	t.Cleanup(func() {
		s.Stop()
		served.Wait()
	})
	return l.Addr().String()
}

func serveFiler(t *testing.T, f *fakeFiler, o ...grpc.ServerOption) string {
	t.Helper()
	return dotted(serve(t, func(s *grpc.Server) { filer_pb.RegisterSeaweedFilerServer(s, f) }, o...))
}

func serveGateway(t *testing.T, g *fakeGateway, o ...grpc.ServerOption) string {
	t.Helper()
	return serve(t, func(s *grpc.Server) { s3_lifecycle_pb.RegisterSeaweedS3LifecycleInternalServer(s, g) }, o...)
}

func serveMaster(t *testing.T, m *fakeMaster) string {
	t.Helper()
	return dotted(serve(t, func(s *grpc.Server) { master_pb.RegisterSeaweedServer(s, m) }))
}

// dotted names a server by its gRPC address, as masters and filers are.
func dotted(grpcAddress string) string {
	host, port, _ := strings.Cut(grpcAddress, ":")
	return host + ":1." + port
}

// nobody is an address where nothing listens.
func nobody(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// options are those of a test that dials fakes: nothing of the host's is
// read, and nothing is waited for long.
func options(t *testing.T) cluster.Options {
	t.Helper()
	return cluster.Options{
		SecurityDirs:    []string{t.TempDir()},
		DialTimeout:     5 * time.Second,
		RegisterTimeout: time.Millisecond,
		CallTimeout:     5 * time.Second,
		Silence:         5 * time.Second,
		LockTTL:         time.Second,
		Log:             slog.New(slog.NewTextHandler(t.Output(), nil)),
	}
}

func dial(t *testing.T, o cluster.Options) *cluster.Cluster {
	t.Helper()
	c, err := cluster.Dial(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return c
}

func dialFiler(t *testing.T, f *fakeFiler) *cluster.Cluster {
	t.Helper()
	o := options(t)
	o.Filers = []string{serveFiler(t, f)}
	return dial(t, o)
}

func tlsServer(c tls.Certificate, o ...func(*tls.Config)) grpc.ServerOption {
	conf := &tls.Config{Certificates: []tls.Certificate{c}}
	for _, change := range o {
		change(conf)
	}
	return grpc.Creds(credentials.NewTLS(conf))
}
