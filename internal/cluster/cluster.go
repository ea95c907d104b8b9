package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seaweedfs/seaweedfs/weed/pb/filer_pb"
	"github.com/seaweedfs/seaweedfs/weed/pb/s3_lifecycle_pb"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

// Options say where a cluster is and how to speak to it. A zero duration is
// its default.
type Options struct {
	// Masters, Filers and Gateways are addresses: host:port, or
	// host:port.grpcport, of masters and filers, the gRPC address of gateways.
	// Masters are asked for the filers and gateways that are not given.
	Masters, Filers, Gateways []string
	// FilerGroup is the group to ask the masters for; empty is the default one.
	FilerGroup string
	// NeedGateway asks for the gateways too. Without it Delete always fails.
	NeedGateway bool
	// AllowPlaintext lets connections without TLS leave this host.
	AllowPlaintext bool
	// SecurityDirs are searched for security.toml; nil is SecurityDirs().
	SecurityDirs []string

	// DialTimeout bounds the probe of each server; 10 s.
	DialTimeout time.Duration
	// RegisterTimeout is how long a filer or gateway may take to show up at the
	// master; 10 s.
	RegisterTimeout time.Duration
	// CallTimeout bounds one attempt of a call, and the silence between two
	// entries of a listing; 20 s.
	CallTimeout time.Duration
	// Silence is how long the meta-log stream may be silent; 30 s.
	Silence time.Duration
	// LockTTL is how long a lock outlives its holder; 30 s. The filer counts in
	// whole seconds.
	LockTTL time.Duration
	// LockServerWait is how long the filers may take to agree on who of them
	// keeps a lock, as they do after a start; 15 s.
	LockServerWait time.Duration

	// Log takes warnings of servers that are left out; nil is none.
	Log *slog.Logger
}

func (o *Options) setDefaults() {
	for _, d := range []struct {
		value   *time.Duration
		implied time.Duration
	}{
		{&o.DialTimeout, 10 * time.Second},
		{&o.RegisterTimeout, 10 * time.Second},
		{&o.CallTimeout, 20 * time.Second},
		{&o.Silence, 30 * time.Second},
		{&o.LockTTL, 30 * time.Second},
		{&o.LockServerWait, 15 * time.Second},
	} {
		if *d.value == 0 {
			*d.value = d.implied
		}
	}
	if o.SecurityDirs == nil {
		o.SecurityDirs = SecurityDirs()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
}

// defaultBuckets is the buckets' folder of a filer that names none.
const defaultBuckets = "/buckets"

// Cluster is a connected cluster, safe for concurrent use.
type Cluster struct {
	options Options
	dialer  *dialer

	filers []*filer
	// current is the index of the filer that answered last.
	current atomic.Int64
	// bucketsDir is the folder of the buckets, without a trailing slash.
	bucketsDir string

	gateways []*gateway
	// turn counts the deletes, for taking the gateways in turn.
	turn atomic.Uint64
}

type filer struct {
	*endpoint
	client filer_pb.SeaweedFilerClient
	// signature is that of the filer's store.
	signature int32
	buckets   string
}

// stream opens a stream of answers that is read with a message of its own.
func (f *filer) stream(ctx context.Context, method string, req proto.Message) (grpc.ClientStream, error) {
	s, err := f.conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, method)
	if err != nil {
		return nil, err
	}
	if err := s.SendMsg(req); err != nil {
		return nil, err
	}
	return s, s.CloseSend()
}

type gateway struct {
	*endpoint
	client s3_lifecycle_pb.SeaweedS3LifecycleInternalClient
}

// Dial connects to the cluster's filers, and its gateways where asked. Every
// server is probed before Dial returns; a server that cannot be used is a
// ConnectError. Close the cluster when it is no longer needed.
func Dial(ctx context.Context, o Options) (*Cluster, error) {
	o.setDefaults()
	quietGlog()
	creds, err := loadCredentials(o.SecurityDirs, clientComponent)
	if err != nil {
		return nil, err
	}
	c := &Cluster{
		options: o,
		dialer:  &dialer{creds: creds, allowPlaintext: o.AllowPlaintext, timeout: o.DialTimeout},
	}
	if err := c.connect(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// Close ends every connection. Calls in flight fail.
func (c *Cluster) Close() error {
	var errs []error
	for _, f := range c.filers {
		errs = append(errs, f.conn.Close())
	}
	for _, g := range c.gateways {
		errs = append(errs, g.conn.Close())
	}
	return errors.Join(errs...)
}

func (c *Cluster) connect(ctx context.Context) error {
	filers, gateways, err := c.discover(ctx)
	if err != nil {
		return err
	}
	for _, name := range filers {
		e, err := c.dialer.open(ctx, Filer, name)
		if err != nil {
			return err
		}
		c.filers = append(c.filers, &filer{endpoint: e, client: filer_pb.NewSeaweedFilerClient(e.conn)})
	}
	for _, name := range gateways {
		e, err := c.dialer.open(ctx, Gateway, name)
		if err != nil {
			return err
		}
		c.gateways = append(c.gateways, &gateway{endpoint: e, client: s3_lifecycle_pb.NewSeaweedS3LifecycleInternalClient(e.conn)})
	}

	ctx, cancel := c.dialer.probing(ctx)
	defer cancel()
	return errors.Join(c.probeFilers(ctx), c.probeGateways(ctx))
}

// probeFilers asks each filer for its store and keeps those that answer. A
// filer that is silent may have a store, and so a meta-log, of its own: one
// that a master named is an error, one that was given by name a warning as
// long as another answers.
func (c *Cluster) probeFilers(ctx context.Context) error {
	errs := make([]error, len(c.filers))
	var probes sync.WaitGroup
	for i, f := range c.filers {
		probes.Go(func() {
			conf, err := f.client.GetFilerConfiguration(ctx, &filer_pb.GetFilerConfigurationRequest{})
			if err != nil {
				errs[i] = c.dialer.explain(ctx, f.endpoint, cause(ctx, err))
				return
			}
			f.signature, f.buckets = conf.Signature, conf.DirBuckets
		})
	}
	probes.Wait()

	given := len(c.options.Filers) > 0
	var alive []*filer
	for i, f := range c.filers {
		if errs[i] == nil {
			alive = append(alive, f)
		}
	}
	if failed := errors.Join(errs...); failed != nil && (!given || len(alive) == 0) {
		return failed
	}
	for i, f := range c.filers {
		if errs[i] != nil {
			c.options.Log.Warn("filer left out", "error", errs[i])
			_ = f.conn.Close() // nothing was sent on it
		}
	}
	c.filers = alive
	first := alive[0]
	for _, f := range alive[1:] {
		if f.signature != first.signature {
			return &ConnectError{
				Role: Filer, Address: f.name,
				Reason: fmt.Sprintf("does not share its store with filer %q: each keeps a meta-log of its own, and a pass reads one", first.name),
				Hint:   "let the filers share one store; deletes that only one log knows of would be missed",
			}
		}
	}
	c.bucketsDir = first.buckets
	if c.bucketsDir == "" {
		c.bucketsDir = defaultBuckets
	}
	return nil
}

// probeGateways keeps the gateways that admit us. One that does not is a
// warning as long as another does.
func (c *Cluster) probeGateways(ctx context.Context) error {
	errs := make([]error, len(c.gateways))
	var probes sync.WaitGroup
	for i, g := range c.gateways {
		probes.Go(func() {
			errs[i] = c.admits(ctx, g)
		})
	}
	probes.Wait()

	var alive []*gateway
	for i, g := range c.gateways {
		if errs[i] == nil {
			alive = append(alive, g)
		}
	}
	if len(alive) == 0 {
		return errors.Join(errs...)
	}
	for i, g := range c.gateways {
		if errs[i] != nil {
			c.options.Log.Warn("S3 gateway left out", "error", errs[i])
			_ = g.conn.Close() // nothing is in flight on it
		}
	}
	c.gateways = alive
	return nil
}

// admits sends a gateway a delete of nothing, which it answers and does not
// carry out.
func (c *Cluster) admits(ctx context.Context, g *gateway) error {
	_, err := g.client.LifecycleDelete(c.dialer.creds.admin(ctx), &s3_lifecycle_pb.LifecycleDeleteRequest{})
	if err != nil {
		return c.dialer.explain(ctx, g.endpoint, cause(ctx, err))
	}
	return nil
}
