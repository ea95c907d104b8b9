package cluster_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seaweedfs/seaweedfs/weed/pb/filer_pb"
	"github.com/seaweedfs/seaweedfs/weed/pb/s3_lifecycle_pb"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"weedlc/engine"
	"weedlc/internal/cluster"
	"weedlc/pass"
)

func TestFailover(t *testing.T) {
	unavailable := func(context.Context) error { return status.Error(codes.Unavailable, "away") }
	hanging := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	refused := func(context.Context) error { return status.Error(codes.InvalidArgument, "no such target") }
	for _, tc := range []struct {
		name  string
		pings []func(context.Context) error
		err   string // empty: the last filer answers
		calls []int32
	}{
		{"the first answers", []func(context.Context) error{nil, nil}, "", []int32{1, 0}},
		{"the first is away", []func(context.Context) error{unavailable, nil}, "", []int32{1, 1}},
		{"the first hangs", []func(context.Context) error{hanging, nil}, "", []int32{1, 1}},
		{"an answer is an answer", []func(context.Context) error{refused, nil}, "no such target", []int32{1, 0}},
		{"all are away", []func(context.Context) error{unavailable, unavailable}, "away", []int32{1, 1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := options(t)
			o.CallTimeout = 300 * time.Millisecond
			calls := make([]atomic.Int32, len(tc.pings))
			for i, ping := range tc.pings {
				o.Filers = append(o.Filers, serveFiler(t, &fakeFiler{signature: 7, ping: func(ctx context.Context) error {
					calls[i].Add(1)
					if ping == nil {
						return nil
					}
					return ping(ctx)
				}}))
			}
			now, err := dial(t, o).Now(t.Context())
			if tc.err == "" && (err != nil || now.UnixNano() != 7) {
				t.Errorf("now %v, %v", now, err)
			}
			if tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err) || !strings.Contains(err.Error(), o.Filers[0])) {
				t.Errorf("error %v", err)
			}
			for i, want := range tc.calls {
				if got := calls[i].Load(); got != want {
					t.Errorf("filer %d was called %d times, want %d", i, got, want)
				}
			}
		})
	}
}

// The filer that answered last is asked first.
func TestFailoverRemembers(t *testing.T) {
	o := options(t)
	away := 0
	o.Filers = []string{
		serveFiler(t, &fakeFiler{ping: func(context.Context) error { away++; return status.Error(codes.Unavailable, "away") }}),
		serveFiler(t, &fakeFiler{}),
	}
	c := dial(t, o)
	for range 3 {
		if _, err := c.Now(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if away != 1 {
		t.Errorf("asked %d times", away)
	}
}

func TestCancelledCall(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var calls atomic.Int32
	o := options(t)
	f := &fakeFiler{ping: func(call context.Context) error {
		calls.Add(1)
		cancel()
		<-call.Done()
		return call.Err()
	}}
	o.Filers = []string{serveFiler(t, f), serveFiler(t, f)}
	if _, err := dial(t, o).Now(ctx); !errors.Is(err, context.Canceled) || calls.Load() != 1 {
		t.Errorf("error %v after %d calls", err, calls.Load())
	}
}

// The filer's own miss crosses the wire as text; the same text under another
// code is a read that failed.
func TestNotFound(t *testing.T) {
	for _, tc := range []struct {
		name    string
		err     error
		missing bool
	}{
		{"no entry", nil, true},
		{"the filer's text", filer_pb.ErrNotFound, true},
		{"the code", status.Error(codes.NotFound, "gone"), true},
		{"the text of a failed read", status.Error(codes.Internal, filer_pb.ErrNotFound.Error()), false},
		{"another text", errors.New("disk on fire"), false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := dialFiler(t, &fakeFiler{
				lookup: func(*filer_pb.LookupDirectoryEntryRequest) (*filer_pb.LookupDirectoryEntryResponse, error) {
					return &filer_pb.LookupDirectoryEntryResponse{}, tc.err
				},
				list: func(*filer_pb.ListEntriesRequest, grpc.ServerStreamingServer[filer_pb.ListEntriesResponse]) error {
					return tc.err
				},
			})
			_, err := c.Lookup(t.Context(), "b", "k")
			if err == nil || errors.Is(err, engine.ErrNotFound) != tc.missing {
				t.Errorf("lookup: %v", err)
			}
			entries, err := c.List(t.Context(), pass.Page{Bucket: "b", Folder: "d", Limit: 1})
			if (err == nil) != tc.missing || len(entries) > 0 {
				t.Errorf("list: %v, %v", entries, err)
			}
		})
	}
}

func TestPathsOfCalls(t *testing.T) {
	var asked []string
	c := dialFiler(t, &fakeFiler{
		lookup: func(r *filer_pb.LookupDirectoryEntryRequest) (*filer_pb.LookupDirectoryEntryResponse, error) {
			asked = append(asked, r.Directory+" "+r.Name)
			return &filer_pb.LookupDirectoryEntryResponse{Entry: &filer_pb.Entry{Name: r.Name}}, nil
		},
		list: func(r *filer_pb.ListEntriesRequest, _ grpc.ServerStreamingServer[filer_pb.ListEntriesResponse]) error {
			asked = append(asked, strings.Join([]string{r.Directory, r.Prefix, r.StartFromFileName}, " "))
			return nil
		},
	})
	for _, path := range []string{"k", "k/", "d/e/k", "", "a b/ c*"} {
		if _, err := c.Lookup(t.Context(), "b", path); err != nil {
			t.Errorf("lookup %q: %v", path, err)
		}
	}
	for _, p := range []pass.Page{{Bucket: "b", Limit: 1}, {Bucket: "b", Folder: "d/e", Prefix: "p", After: "q", Limit: 1}} {
		if _, err := c.List(t.Context(), p); err != nil {
			t.Errorf("list %v: %v", p, err)
		}
	}
	want := []string{
		"/buckets/b k", "/buckets/b k", "/buckets/b/d/e k", "/buckets b", "/buckets/b/a b  c*",
		"/buckets/b  ", "/buckets/b/d/e p q",
	}
	if !slices.Equal(asked, want) {
		t.Errorf("asked %q\nwant  %q", asked, want)
	}

	// The filer would follow these out of the bucket.
	asked = nil
	for _, path := range []string{"..", ".", "../c/k", "d/../../c", "d/.", "d/../"} {
		if _, err := c.Lookup(t.Context(), "b", path); !errors.Is(err, engine.ErrNotFound) {
			t.Errorf("lookup %q: %v", path, err)
		}
		if entries, err := c.List(t.Context(), pass.Page{Bucket: "b", Folder: path, Limit: 1}); err != nil || len(entries) > 0 {
			t.Errorf("list %q: %v, %v", path, entries, err)
		}
	}
	for _, bucket := range []string{"", ".", ".."} {
		if _, err := c.Lookup(t.Context(), bucket, "k"); !errors.Is(err, engine.ErrNotFound) {
			t.Errorf("lookup in %q: %v", bucket, err)
		}
	}
	if len(asked) > 0 {
		t.Errorf("asked %q", asked)
	}
}

type deleteFunc = func(context.Context, *s3_lifecycle_pb.LifecycleDeleteRequest) (*s3_lifecycle_pb.LifecycleDeleteResponse, error)

func dialGateways(t *testing.T, security string, deletes ...deleteFunc) *cluster.Cluster {
	t.Helper()
	o := options(t)
	o.CallTimeout = 500 * time.Millisecond
	o.SecurityDirs = securityDir(t, security)
	o.Filers, o.NeedGateway = []string{serveFiler(t, &fakeFiler{})}, true
	for _, d := range deletes {
		o.Gateways = append(o.Gateways, serveGateway(t, &fakeGateway{delete: d}))
	}
	return dial(t, o)
}

func TestDeleteOutcomes(t *testing.T) {
	for wire, want := range map[s3_lifecycle_pb.LifecycleDeleteOutcome]pass.Outcome{
		s3_lifecycle_pb.LifecycleDeleteOutcome_DONE:                pass.Done,
		s3_lifecycle_pb.LifecycleDeleteOutcome_NOOP_RESOLVED:       pass.NoopResolved,
		s3_lifecycle_pb.LifecycleDeleteOutcome_SKIPPED_OBJECT_LOCK: pass.SkippedObjectLock,
		s3_lifecycle_pb.LifecycleDeleteOutcome_RETRY_LATER:         pass.RetryLater,
		s3_lifecycle_pb.LifecycleDeleteOutcome_BLOCKED:             pass.Blocked,

		s3_lifecycle_pb.LifecycleDeleteOutcome_LIFECYCLE_DELETE_OUTCOME_UNSPECIFIED: "",
		99: "",
	} {
		c := dialGateways(t, "", func(context.Context, *s3_lifecycle_pb.LifecycleDeleteRequest) (*s3_lifecycle_pb.LifecycleDeleteResponse, error) {
			return &s3_lifecycle_pb.LifecycleDeleteResponse{Outcome: wire, Reason: "why"}, nil
		})
		resp, err := c.Delete(t.Context(), pass.DeleteRequest{Bucket: "b", Path: "k"})
		if resp.Outcome != want || (err != nil) != (want == "") || err == nil && resp.Reason != "why" {
			t.Errorf("%v: %v, %v", wire, resp, err)
		}
	}
}

func TestDeleteRequest(t *testing.T) {
	var got *s3_lifecycle_pb.LifecycleDeleteRequest
	c := dialGateways(t, "", func(_ context.Context, r *s3_lifecycle_pb.LifecycleDeleteRequest) (*s3_lifecycle_pb.LifecycleDeleteResponse, error) {
		got = r
		return &s3_lifecycle_pb.LifecycleDeleteResponse{Outcome: s3_lifecycle_pb.LifecycleDeleteOutcome_DONE}, nil
	})
	_, err := c.Delete(t.Context(), pass.DeleteRequest{
		Bucket: "b", Path: "d/k", VersionID: "v", RuleHash: engine.RuleHash{1, 2}, Kind: engine.AbortMPU,
		Identity: engine.Identity{MtimeNs: 3, Size: 4, HeadChunk: "5,06", ExtendedHash: []byte{7}},
	})
	if err != nil {
		t.Fatal(err)
	}
	id := got.ExpectedIdentity
	if got.Bucket != "b" || got.ObjectPath != "d/k" || got.VersionId != "v" || !slices.Equal(got.RuleHash, []byte{1, 2, 0, 0, 0, 0, 0, 0}) ||
		got.ActionKind != s3_lifecycle_pb.ActionKind_ABORT_MPU || id.MtimeNs != 3 || id.Size != 4 || id.HeadFid != "5,06" || !slices.Equal(id.ExtendedHash, []byte{7}) {
		t.Errorf("request %v", got)
	}
}

func TestDeleteErrors(t *testing.T) {
	busy, err := status.New(codes.ResourceExhausted, "busy").WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(7 * time.Second)})
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name      string
		err       error
		permanent bool
		after     time.Duration
	}{
		{"unauthenticated", status.Error(codes.Unauthenticated, "who"), true, 0},
		{"forbidden", status.Error(codes.PermissionDenied, "no"), true, 0},
		{"no service", status.Error(codes.Unimplemented, "what"), true, 0},
		{"handshake", status.Error(codes.Unavailable, `connection error: desc = "transport: authentication handshake failed: tls: bad"`), true, 0},
		{"away", status.Error(codes.Unavailable, "away"), false, 0},
		{"internal", status.Error(codes.Internal, "oops"), false, 0},
		{"asks for a pause", busy.Err(), false, 7 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := dialGateways(t, "", func(context.Context, *s3_lifecycle_pb.LifecycleDeleteRequest) (*s3_lifecycle_pb.LifecycleDeleteResponse, error) {
				return nil, tc.err
			})
			_, err := c.Delete(t.Context(), pass.DeleteRequest{Bucket: "b", Path: "k"})
			if err == nil {
				t.Fatal("no error")
			}
			permanent, ok := errors.AsType[pass.Permanent](err)
			if ok != tc.permanent || ok && !permanent.Permanent() {
				t.Errorf("permanent %v: %v", ok, err)
			}
			retry, ok := errors.AsType[pass.RetryInfo](err)
			if ok != (tc.after > 0) || ok && retry.RetryAfter() != tc.after {
				t.Errorf("retry info %v: %v", ok, err)
			}
			for _, word := range []string{`"k"`, `"b"`, "S3 gateway"} {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("error %q does not name %s", err, word)
				}
			}
			if strings.Contains(err.Error(), "rpc error") {
				t.Errorf("error shows the wire: %v", err)
			}
		})
	}
}

func TestDeleteTimeout(t *testing.T) {
	c := dialGateways(t, "", func(ctx context.Context, _ *s3_lifecycle_pb.LifecycleDeleteRequest) (*s3_lifecycle_pb.LifecycleDeleteResponse, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	_, err := c.Delete(t.Context(), pass.DeleteRequest{Bucket: "b", Path: "k"})
	if err == nil || !strings.Contains(err.Error(), "silent for") || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Delete(ctx, pass.DeleteRequest{Bucket: "b", Path: "k"}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestGatewaysInTurn(t *testing.T) {
	calls := make([]int, 3)
	var deletes []deleteFunc
	for i := range calls {
		deletes = append(deletes, func(context.Context, *s3_lifecycle_pb.LifecycleDeleteRequest) (*s3_lifecycle_pb.LifecycleDeleteResponse, error) {
			calls[i]++
			return &s3_lifecycle_pb.LifecycleDeleteResponse{Outcome: s3_lifecycle_pb.LifecycleDeleteOutcome_DONE}, nil
		})
	}
	c := dialGateways(t, "", deletes...)
	for range 9 {
		if _, err := c.Delete(t.Context(), pass.DeleteRequest{Bucket: "b", Path: "k"}); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(calls, []int{3, 3, 3}) {
		t.Errorf("calls %v", calls)
	}
}

func TestDeleteToken(t *testing.T) {
	for _, tc := range []struct {
		name, security string
		token          bool
	}{
		{"no key", "", false},
		{"key", "[jwt.filer_signing]\nkey = \"k\"\nexpires_after_seconds = 10\n", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var sent []string
			c := dialGateways(t, tc.security, func(ctx context.Context, _ *s3_lifecycle_pb.LifecycleDeleteRequest) (*s3_lifecycle_pb.LifecycleDeleteResponse, error) {
				md, _ := metadata.FromIncomingContext(ctx)
				sent = md.Get("authorization")
				return &s3_lifecycle_pb.LifecycleDeleteResponse{Outcome: s3_lifecycle_pb.LifecycleDeleteOutcome_DONE}, nil
			})
			if _, err := c.Delete(t.Context(), pass.DeleteRequest{Bucket: "b", Path: "k"}); err != nil {
				t.Fatal(err)
			}
			if tc.token != (len(sent) == 1 && strings.HasPrefix(sent[0], "Bearer ")) || !tc.token && len(sent) > 0 {
				t.Errorf("authorization %d values", len(sent))
			}
		})
	}
}

func TestDeleteWithoutGateway(t *testing.T) {
	c := dialFiler(t, &fakeFiler{})
	if _, err := c.Delete(t.Context(), pass.DeleteRequest{Bucket: "b", Path: "k"}); err == nil {
		t.Error("delete succeeded")
	}
}
