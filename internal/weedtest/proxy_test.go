package weedtest

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/seaweedfs/seaweedfs/weed/pb/filer_pb"
	"github.com/seaweedfs/seaweedfs/weed/pb/s3_lifecycle_pb"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

const (
	noop    = s3_lifecycle_pb.LifecycleDeleteOutcome_NOOP_RESOLVED
	blocked = s3_lifecycle_pb.LifecycleDeleteOutcome_BLOCKED
	later   = s3_lifecycle_pb.LifecycleDeleteOutcome_RETRY_LATER
)

// dialProxy connects to a proxy in plain text.
func dialProxy(t *testing.T, p *Proxy) *grpc.ClientConn {
	t.Helper()
	conn, err := (&Cluster{}).Dial(p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func TestProxyAnswersForChosenKeys(t *testing.T) {
	p := NewProxy(t, shared.Cluster(t).Addr(Gateway).GRPC())
	client := s3_lifecycle_pb.NewSeaweedS3LifecycleInternalClient(dialProxy(t, p))
	del := func(ctx context.Context, path, version string) (s3_lifecycle_pb.LifecycleDeleteOutcome, error) {
		resp, err := client.LifecycleDelete(ctx, &s3_lifecycle_pb.LifecycleDeleteRequest{
			Bucket: "none", ObjectPath: path, VersionId: version, ActionKind: s3_lifecycle_pb.ActionKind_EXPIRATION_DAYS,
		})
		return resp.GetOutcome(), err
	}
	p.Add(Rule{Path: "blocked", Outcome: blocked, Reason: "by the test"})
	p.Add(Rule{Path: "versions", VersionID: "v1", Outcome: blocked})
	p.Add(Rule{Path: "once", Outcome: later, Times: 1})
	p.Add(Rule{Path: "pause", Err: RetryAfter(codes.ResourceExhausted, 3*time.Second)})
	p.Add(Rule{Path: "unknown", Err: NoService()})
	p.Add(Rule{Path: "lost", Carried: true, Err: status.Error(codes.Unavailable, "lost")})

	for _, c := range []struct {
		path, version string
		want          s3_lifecycle_pb.LifecycleDeleteOutcome
		code          codes.Code
	}{
		{path: "blocked", want: blocked},
		{path: "other", want: noop},
		{path: "versions", version: "v1", want: blocked},
		{path: "versions", version: "v2", want: noop},
		{path: "once", want: later},
		{path: "once", want: noop},
		{path: "pause", code: codes.ResourceExhausted},
		{path: "unknown", code: codes.Unimplemented},
		{path: "lost", code: codes.Unavailable},
	} {
		got, err := del(t.Context(), c.path, c.version)
		if got != c.want || status.Code(err) != c.code {
			t.Errorf("%s %q was answered %v, %v; want %v, %v", c.path, c.version, got, err, c.want, c.code)
		}
	}
	_, err := del(t.Context(), "pause", "")
	details := status.Convert(err).Details()
	info, ok := details[0].(*errdetails.RetryInfo)
	if !ok || info.GetRetryDelay().AsDuration() != 3*time.Second {
		t.Errorf("the error's details are %v", details)
	}

	p.Clear()
	p.Forget()
	release := make(chan struct{})
	p.Add(Rule{Path: "held", Hold: release, Outcome: later})
	p.Add(Rule{Path: "slow", Delay: time.Hour})
	ctx, cancel := context.WithCancel(metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer x"))
	defer cancel()
	slow, held := make(chan error, 1), make(chan s3_lifecycle_pb.LifecycleDeleteOutcome, 1)
	go func() {
		_, err := del(ctx, "slow", "")
		slow <- err
	}()
	if err := p.Await(t.Context(), LifecycleDelete, 1); err != nil {
		t.Fatal(err)
	}
	go func() {
		got, _ := del(t.Context(), "held", "")
		held <- got
	}()
	if err := p.Await(t.Context(), LifecycleDelete, 2); err != nil {
		t.Fatal(err)
	}
	close(release)
	if got := <-held; got != later {
		t.Errorf("a held call was answered %v", got)
	}
	cancel()
	if err := <-slow; status.Code(err) != codes.Canceled {
		t.Errorf("a delayed call that was cancelled ended with %v", err)
	}
	if got, err := del(t.Context(), "blocked", ""); got != noop || err != nil {
		t.Errorf("a cleared rule still answers: %v, %v", got, err)
	}
	calls := p.Calls(LifecycleDelete)
	if len(calls) != 3 {
		t.Fatalf("the record holds %d calls, want 3", len(calls))
	}
	if calls[0].Delete.GetObjectPath() != "slow" || calls[0].Authorization != "Bearer x" || calls[0].Answered ||
		!calls[1].Answered || calls[1].Authorization != "" || calls[1].At.Before(calls[0].At) {
		t.Errorf("the record is %+v", calls)
	}
}

func TestProxyPassesStreams(t *testing.T) {
	cl := shared.Client(t)
	cl.CreateBucket("streamed", Plain, noRules)
	p := NewProxy(t, cl.Cluster().Addr(Filer).GRPC())
	filer := filer_pb.NewSeaweedFilerClient(dialProxy(t, p))
	list := func() (names []string, err error) {
		stream, err := filer.ListEntries(t.Context(), &filer_pb.ListEntriesRequest{Directory: bucketsFolder, Limit: 10})
		if err != nil {
			return nil, err
		}
		for {
			resp, err := stream.Recv()
			if errors.Is(err, io.EOF) {
				return names, nil
			}
			if err != nil {
				return names, err
			}
			names = append(names, resp.GetEntry().GetName())
		}
	}
	if names, err := list(); err != nil || len(names) != 1 || names[0] != "streamed" {
		t.Errorf("through the proxy the buckets are %q, %v", names, err)
	}
	p.Add(Rule{Method: "ListEntries", Times: 1, Err: status.Error(codes.Unavailable, "by the test")})
	if names, err := list(); status.Code(err) != codes.Unavailable {
		t.Errorf("a refused listing gave %q, %v", names, err)
	}
	_, err := filer.LookupDirectoryEntry(t.Context(), &filer_pb.LookupDirectoryEntryRequest{Directory: "/", Name: "none"})
	if !isNotFound(err) {
		t.Errorf("the server's error arrives as %v", err)
	}
	if got := len(p.Calls("ListEntries")); got != 2 {
		t.Errorf("%d listings were recorded, want 2", got)
	}
}
