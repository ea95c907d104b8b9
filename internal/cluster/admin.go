package cluster

import (
	"cmp"
	"context"
	"errors"
	"io"
	"time"

	"github.com/seaweedfs/seaweedfs/weed/pb"
	"github.com/seaweedfs/seaweedfs/weed/pb/plugin_pb"
	"google.golang.org/grpc"
)

// AdminOptions say where an admin server is and how to speak to it.
type AdminOptions struct {
	// Address is host:port of its web interface. Workers connect to the port
	// 10000 above, or to the one behind a dot: host:port.grpcport.
	Address string
	// AllowPlaintext lets the connection leave this host without TLS.
	AllowPlaintext bool
	// SecurityDirs are searched for security.toml; nil is SecurityDirs().
	SecurityDirs []string
	// Timeout bounds a request to the web interface and the search for why a
	// connection fails; 0 is 10 s.
	Timeout time.Duration
}

// Admin is an admin server, as its workers see it. It is safe for concurrent
// use.
type Admin struct {
	dialer   *dialer
	endpoint *endpoint
	client   plugin_pb.PluginControlServiceClient
	site     *adminSite
}

// NewAdmin prepares the connection; the first WorkerStream makes it.
func NewAdmin(ctx context.Context, o AdminOptions) (*Admin, error) {
	quietGlog()
	if o.SecurityDirs == nil {
		o.SecurityDirs = SecurityDirs()
	}
	creds, err := loadCredentials(o.SecurityDirs, workerComponent)
	if err != nil {
		return nil, err
	}
	d := &dialer{creds: creds, allowPlaintext: o.AllowPlaintext, timeout: cmp.Or(o.Timeout, 10*time.Second)}
	e, err := d.open(ctx, AdminServer, o.Address)
	if err != nil {
		return nil, err
	}
	site, err := newAdminSite(creds, pb.ServerAddress(o.Address).ToHttpAddress(), d.timeout)
	if err != nil {
		return nil, err
	}
	return &Admin{dialer: d, endpoint: e, client: plugin_pb.NewPluginControlServiceClient(e.conn), site: site}, nil
}

// Close ends the connection, and with it every stream.
func (a *Admin) Close() error { return a.endpoint.conn.Close() }

// WorkerStream opens the stream on which the admin server and a worker talk. It
// ends with the context. What ends it is a ConnectError as long as the server
// has not said anything.
func (a *Admin) WorkerStream(ctx context.Context) (*WorkerStream, error) {
	stream, err := a.client.WorkerStream(a.dialer.creds.admin(ctx))
	if err != nil {
		return nil, a.dialer.explain(ctx, a.endpoint, cause(ctx, err))
	}
	return &WorkerStream{BidiStreamingClient: stream, admin: a, ctx: ctx}, nil
}

// WorkerStream is one connection of a worker. One goroutine may send while
// another receives.
type WorkerStream struct {
	grpc.BidiStreamingClient[plugin_pb.WorkerToAdminMessage, plugin_pb.AdminToWorkerMessage]
	admin *Admin
	ctx   context.Context
	heard bool
}

// Send sends a message. A stream that the server has ended takes everything: Recv
// tells what ended it.
func (s *WorkerStream) Send(m *plugin_pb.WorkerToAdminMessage) error {
	if err := s.BidiStreamingClient.Send(m); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// Recv waits for the next message.
func (s *WorkerStream) Recv() (*plugin_pb.AdminToWorkerMessage, error) {
	m, err := s.BidiStreamingClient.Recv()
	switch {
	case err == nil:
		s.heard = true
		return m, nil
	case s.ctx.Err() != nil:
		return nil, context.Cause(s.ctx)
	case s.heard:
		e := s.admin.endpoint.callError("serve a worker", err)
		return nil, &e
	}
	return nil, s.admin.dialer.explain(s.ctx, s.admin.endpoint, err)
}

// AdminWorker is a worker as the admin server lists it.
type AdminWorker struct {
	ID, Address, Version string
	// Runs are the job types that it carries out or detects, sorted.
	Runs []string
}

// Workers lists the workers that are connected to the admin server. Its web
// interface knows them; where that asks for a login, it is the one of
// admin.readonly or admin in security.toml.
func (a *Admin) Workers(ctx context.Context) ([]AdminWorker, error) {
	ctx, cancel := context.WithTimeout(ctx, a.dialer.timeout)
	defer cancel()
	workers, err := a.site.workers(ctx)
	if err != nil {
		e := a.endpoint.callError("list its workers", err)
		return nil, &e
	}
	return workers, nil
}
