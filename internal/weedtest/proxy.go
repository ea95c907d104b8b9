package weedtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path"
	"slices"
	"sync"
	"time"

	"github.com/seaweedfs/seaweedfs/weed/pb/s3_lifecycle_pb"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
)

// LifecycleDelete is the method that deletes, as a Rule's and a Call's Method.
const LifecycleDelete = "LifecycleDelete"

// Proxy passes gRPC calls of any service on to a server, answers for chosen
// ones, and keeps a record of all. It speaks plain text to both sides. It is
// safe for concurrent use.
type Proxy struct {
	listener net.Listener
	server   *grpc.Server
	target   *grpc.ClientConn

	mu    sync.Mutex
	rules []*Rule
	calls []Call
	// arrived is closed, and replaced, when a call is recorded.
	arrived chan struct{}
}

// Rule is what a proxy does with the calls that it matches. Of several
// matching rules the one that was added first applies. A rule without Outcome
// and Err passes the call on.
type Rule struct {
	// Method is a method's bare name; empty is LifecycleDelete.
	Method string
	// Bucket, Path and VersionID choose among LifecycleDelete calls; empty is
	// any.
	Bucket, Path, VersionID string
	// Match, when set, chooses by the first message of the request.
	Match func(body []byte) bool
	// Times is how often the rule applies; 0 is always.
	Times int

	// Delay passes, and Hold is closed, before anything else is done; a caller
	// that gives up ends the wait.
	Delay time.Duration
	Hold  <-chan struct{}
	// Outcome and Reason are a LifecycleDelete's answer.
	Outcome s3_lifecycle_pb.LifecycleDeleteOutcome
	Reason  string
	// Err is a status error to answer with; see RetryAfter and NoService.
	Err error
	// Carried passes the call on first and then gives the answer above: the
	// delete happens and the caller does not learn of it.
	Carried bool

	applied int
}

// Call is one call that reached a proxy.
type Call struct {
	At     time.Time
	Method string
	// Authorization is the bearer header as sent; empty without one.
	Authorization string
	// Delete is the request of a LifecycleDelete, nil for other methods.
	Delete *s3_lifecycle_pb.LifecycleDeleteRequest
	// Answered is set when a rule answered, in whole or after the server.
	Answered bool
}

// NewProxy starts a proxy in front of a server's gRPC port (host:port). It
// ends with the test.
func NewProxy(t TB, target string) *Proxy {
	t.Helper()
	p, err := startProxy(target)
	if err != nil {
		t.Fatalf("cannot start a proxy: %v", err)
	}
	t.Cleanup(func() {
		p.server.Stop()
		_ = p.target.Close()
	})
	return p
}

func startProxy(target string) (*Proxy, error) {
	conn, err := (&Cluster{}).Dial(target)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", net.JoinHostPort(loopback, "0"))
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	p := &Proxy{listener: l, target: conn, arrived: make(chan struct{})}
	p.server = grpc.NewServer(
		grpc.ForceServerCodec(rawCodec{}),
		grpc.UnknownServiceHandler(p.handle),
		grpc.MaxRecvMsgSize(maxMessage),
	)
	go func() { _ = p.server.Serve(l) }() // ends with Stop
	return p, nil
}

// maxMessage is above gRPC's default: a filer sends batches of events.
const maxMessage = 1 << 30

// Addr is where the proxy listens, as host:port.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Add adds a rule.
func (p *Proxy) Add(r Rule) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = append(p.rules, &r)
}

// Clear removes all rules; the record stays.
func (p *Proxy) Clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = nil
}

// Calls returns the recorded calls of a method in the order of their arrival.
func (p *Proxy) Calls(method string) []Call {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []Call
	for _, c := range p.calls {
		if c.Method == method {
			list = append(list, c)
		}
	}
	return list
}

// Await waits until n calls of a method are on record.
func (p *Proxy) Await(ctx context.Context, method string, n int) error {
	for {
		p.mu.Lock()
		arrived := p.arrived
		p.mu.Unlock()
		got := len(p.Calls(method))
		if got >= n {
			return nil
		}
		select {
		case <-arrived:
		case <-ctx.Done():
			return fmt.Errorf("%d of %d %s calls arrived: %w", got, n, method, ctx.Err())
		}
	}
}

// Forget empties the record.
func (p *Proxy) Forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls = nil
}

func (p *Proxy) handle(_ any, in grpc.ServerStream) error {
	name, ok := grpc.MethodFromServerStream(in)
	if !ok {
		return status.Error(codes.Internal, "proxy: no method")
	}
	var first frame
	if err := in.RecvMsg(&first); err != nil {
		return err
	}
	call, rule := p.record(in.Context(), path.Base(name), first.data)
	if rule == nil {
		return p.pass(in, name, &first)
	}
	if err := rule.wait(in.Context()); err != nil {
		return err
	}
	if rule.Err == nil && rule.Outcome == s3_lifecycle_pb.LifecycleDeleteOutcome_LIFECYCLE_DELETE_OUTCOME_UNSPECIFIED {
		return p.pass(in, name, &first)
	}
	if rule.Carried {
		if err := p.target.Invoke(outgoing(in.Context()), name, &first, &frame{}, grpc.ForceCodec(rawCodec{})); err != nil {
			return err
		}
	}
	if rule.Err != nil {
		return rule.Err
	}
	if call.Delete == nil {
		return status.Errorf(codes.Internal, "proxy: an outcome is no answer to %s", name)
	}
	body, err := proto.Marshal(&s3_lifecycle_pb.LifecycleDeleteResponse{Outcome: rule.Outcome, Reason: rule.Reason})
	if err != nil {
		return err
	}
	return in.SendMsg(&frame{data: body})
}

// record notes a call and finds the rule that applies to it.
func (p *Proxy) record(ctx context.Context, method string, body []byte) (Call, *Rule) {
	c := Call{At: time.Now(), Method: method}
	if md, ok := metadata.FromIncomingContext(ctx); ok && len(md.Get("authorization")) > 0 {
		c.Authorization = md.Get("authorization")[0]
	}
	if method == LifecycleDelete {
		req := &s3_lifecycle_pb.LifecycleDeleteRequest{}
		if proto.Unmarshal(body, req) == nil {
			c.Delete = req
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.IndexFunc(p.rules, func(r *Rule) bool { return r.matches(c, body) })
	var rule *Rule
	if i >= 0 {
		rule = p.rules[i]
		rule.applied++
		c.Answered = rule.Err != nil || rule.Outcome != s3_lifecycle_pb.LifecycleDeleteOutcome_LIFECYCLE_DELETE_OUTCOME_UNSPECIFIED
	}
	p.calls = append(p.calls, c)
	close(p.arrived)
	p.arrived = make(chan struct{})
	return c, rule
}

func (r *Rule) matches(c Call, body []byte) bool {
	method := r.Method
	if method == "" {
		method = LifecycleDelete
	}
	if method != c.Method || r.Times > 0 && r.applied >= r.Times {
		return false
	}
	if c.Delete != nil {
		for _, pair := range [][2]string{
			{r.Bucket, c.Delete.GetBucket()},
			{r.Path, c.Delete.GetObjectPath()},
			{r.VersionID, c.Delete.GetVersionId()},
		} {
			if pair[0] != "" && pair[0] != pair[1] {
				return false
			}
		}
	}
	return r.Match == nil || r.Match(body)
}

func (r *Rule) wait(ctx context.Context) error {
	timer := time.NewTimer(r.Delay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	}
	if r.Hold == nil {
		return nil
	}
	select {
	case <-r.Hold:
		return nil
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	}
}

// pass connects the caller's stream with one to the server.
func (p *Proxy) pass(in grpc.ServerStream, name string, first *frame) error {
	ctx, cancel := context.WithCancel(in.Context())
	defer cancel()
	desc := &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}
	out, err := p.target.NewStream(outgoing(ctx), desc, name, grpc.ForceCodec(rawCodec{}))
	if err != nil {
		return err
	}
	go func() {
		// A failed send shows in RecvMsg below.
		for f := first; ; f = new(frame) {
			if f != first && in.RecvMsg(f) != nil {
				_ = out.CloseSend()
				return
			}
			if out.SendMsg(f) != nil {
				return
			}
		}
	}()
	for {
		f := new(frame)
		err := out.RecvMsg(f)
		if err != nil {
			in.SetTrailer(out.Trailer())
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := in.SendMsg(f); err != nil {
			return err
		}
	}
}

// outgoing carries the caller's metadata on.
func outgoing(ctx context.Context) context.Context {
	md, _ := metadata.FromIncomingContext(ctx)
	return metadata.NewOutgoingContext(ctx, md)
}

// RetryAfter is a status error that asks for a pause before the next attempt.
func RetryAfter(code codes.Code, pause time.Duration) error {
	st, err := status.New(code, "try again later").WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(pause)})
	if err != nil {
		return err
	}
	return st.Err()
}

// NoService is the status error of a gateway that does not know the lifecycle
// service.
func NoService() error {
	return status.Error(codes.Unimplemented, "unknown service s3_lifecycle_pb.SeaweedS3LifecycleInternal")
}

// frame is a message that stays encoded.
type frame struct{ data []byte }

// rawCodec moves frames. Its name is protobuf's, because that is what the
// frames hold.
type rawCodec struct{}

func (rawCodec) Name() string { return "proto" }

func (rawCodec) Marshal(v any) ([]byte, error) {
	f, ok := v.(*frame)
	if !ok {
		return nil, status.Errorf(codes.Internal, "proxy: unexpected message %T", v)
	}
	return f.data, nil
}

func (rawCodec) Unmarshal(data []byte, v any) error {
	f, ok := v.(*frame)
	if !ok {
		return status.Errorf(codes.Internal, "proxy: unexpected message %T", v)
	}
	f.data = slices.Clone(data)
	return nil
}
