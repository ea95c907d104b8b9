package adminworker

import (
	"context"
	"errors"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/seaweedfs/seaweedfs/weed/pb/plugin_pb"
)

type (
	toWorker = plugin_pb.AdminToWorkerMessage
	toAdmin  = plugin_pb.WorkerToAdminMessage
)

// stream is a connection, seen from the admin server.
type stream struct {
	ctx  context.Context // the worker's
	to   chan *toWorker
	from chan *toAdmin
	// gone ends the connection from this side, closed is that of the worker.
	gone, closed chan struct{}
}

func (s *stream) Send(m *toAdmin) error {
	select {
	case s.from <- m:
		return nil
	case <-s.gone:
		return errGone
	}
}

func (s *stream) Recv() (*toWorker, error) {
	select {
	case m := <-s.to:
		return m, nil
	case <-s.gone:
		return nil, errGone
	case <-s.closed:
		return nil, io.EOF
	case <-s.ctx.Done():
		return nil, s.ctx.Err()
	}
}

func (s *stream) CloseSend() error { close(s.closed); return nil }

var errGone = errors.New("the admin server is gone")

// rig is a worker and the admin server that it is connected to.
type rig struct {
	*stream
	t     *testing.T
	conns chan *stream
	// end stops the worker, returned is what Run has returned.
	end      context.CancelFunc
	returned chan error
	// begun are the jobs, proceed lets one end with a result.
	begun   chan Job
	proceed chan Result

	mu     sync.Mutex
	peers  []Peer
	peered error
}

const heartbeat = 20 * time.Millisecond

func start(t *testing.T, peers ...Peer) *rig {
	t.Helper()
	r := &rig{
		t: t, conns: make(chan *stream), returned: make(chan error, 1),
		begun: make(chan Job, 1), proceed: make(chan Result), peers: peers,
	}
	w := New(Options{
		ID: "w1", Host: "host1", Version: "1.2", Heartbeat: heartbeat, Reconnect: time.Millisecond,
		Connect: func(ctx context.Context) (Stream, error) {
			s := &stream{ctx: ctx, to: make(chan *toWorker), from: make(chan *toAdmin), gone: make(chan struct{}), closed: make(chan struct{})}
			select {
			case r.conns <- s:
				return s, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		},
		Peers: func(context.Context) ([]Peer, error) {
			r.mu.Lock()
			defer r.mu.Unlock()
			return r.peers, r.peered
		},
		Work: func(ctx context.Context, job Job, tell func(Progress)) Result {
			tell(Progress{Stage: "connecting", Message: "begun", Now: true})
			tell(Progress{Stage: "running", Message: "half done"})
			r.begun <- job
			select {
			case result := <-r.proceed:
				return result
			case <-ctx.Done():
				return Result{Undone: "cut short"}
			}
		},
	})
	ctx, cancel := context.WithCancel(t.Context())
	r.end = cancel
	go func() { r.returned <- w.Run(ctx) }()
	t.Cleanup(cancel)
	return r
}

// connect takes the worker's next connection as far as its first heartbeat.
func (r *rig) connect() *plugin_pb.WorkerHello {
	r.t.Helper()
	r.stream = await(r.t, r.conns)
	hello := await(r.t, r.from).GetHello()
	if hello == nil {
		r.t.Fatal("the first message is no hello")
	}
	return hello
}

func (r *rig) accept() {
	r.t.Helper()
	r.ask("", &plugin_pb.AdminToWorkerMessage_Hello{Hello: &plugin_pb.AdminHello{Accepted: true}})
}

// see sets what the worker sees of others.
func (r *rig) see(err error, peers ...Peer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.peers, r.peered = peers, err
}

func await[T any](t *testing.T, ch <-chan T) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(10 * time.Second):
		t.Fatal("nothing within ten seconds")
	}
	panic("unreachable")
}

// ask sends a request. The body is one of those of AdminToWorkerMessage. What
// the worker says meanwhile is passed over.
func (r *rig) ask(id string, body any) {
	r.t.Helper()
	m := &toWorker{RequestId: id}
	switch b := body.(type) {
	case *plugin_pb.AdminToWorkerMessage_Hello:
		m.Body = b
	case *plugin_pb.RequestConfigSchema:
		m.Body = &plugin_pb.AdminToWorkerMessage_RequestConfigSchema{RequestConfigSchema: b}
	case *plugin_pb.RunDetectionRequest:
		m.Body = &plugin_pb.AdminToWorkerMessage_RunDetectionRequest{RunDetectionRequest: b}
	case *plugin_pb.ExecuteJobRequest:
		b.RequestId = id
		m.Body = &plugin_pb.AdminToWorkerMessage_ExecuteJobRequest{ExecuteJobRequest: b}
	case *plugin_pb.CancelRequest:
		m.Body = &plugin_pb.AdminToWorkerMessage_CancelRequest{CancelRequest: b}
	case *plugin_pb.RequestObjectPreview:
		m.Body = &plugin_pb.AdminToWorkerMessage_RequestObjectPreview{RequestObjectPreview: b}
	default:
		r.t.Fatalf("no request %T", body)
	}
	for {
		select {
		case r.to <- m:
			return
		case <-r.from:
		case <-time.After(10 * time.Second):
			r.t.Fatal("the worker does not listen")
		}
	}
}

// answer is the next message that the function takes for one.
func answer[T comparable](r *rig, of func(*toAdmin) T) T {
	r.t.Helper()
	var none T
	for {
		if v := of(await(r.t, r.from)); v != none {
			return v
		}
	}
}

// execute asks for a job over shards and waits for it to begin.
func (r *rig) execute(id, shards string) Job {
	r.t.Helper()
	r.ask(id, request("job-"+id, shards))
	if ack := answer(r, (*toAdmin).GetAcknowledge); ack.GetRequestId() != id || !ack.GetAccepted() {
		r.t.Fatalf("the job is answered with %v", ack)
	}
	return await(r.t, r.begun)
}

func request(job, shards string) *plugin_pb.ExecuteJobRequest {
	return &plugin_pb.ExecuteJobRequest{Job: &plugin_pb.JobSpec{
		JobId: job, JobType: JobType, Parameters: map[string]*plugin_pb.ConfigValue{paramShards: text(shards)},
	}}
}

// completed is the next job's end, which must be that of a request.
func (r *rig) completed(id string) *plugin_pb.JobCompleted {
	r.t.Helper()
	c := answer(r, (*toAdmin).GetJobCompleted)
	if c.GetRequestId() != id || c.GetJobId() != "job-"+id || c.GetJobType() != JobType {
		r.t.Fatalf("the end of job %q is %v", id, c)
	}
	return c
}

func weedlc(id string) Peer { return Peer{ID: id, Version: "weedlc 1.2", Runs: []string{JobType}} }

var builtIn = Peer{ID: "plugin-1", Address: "host9", Version: "4.53", Runs: []string{JobType, "vacuum"}}

// unconnected is a session of a worker that does not run. The channel has what
// it sends.
func unconnected(t *testing.T, peers ...Peer) (*session, <-chan *toAdmin) {
	w := New(Options{ID: "w1", Peers: func(context.Context) ([]Peer, error) { return peers, nil }})
	out := &stream{ctx: t.Context(), from: make(chan *toAdmin, 1), gone: make(chan struct{})}
	return &session{Worker: w, ctx: t.Context(), stream: out}, out.from
}
