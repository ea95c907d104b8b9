package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seaweedfs/seaweedfs/weed/pb/filer_pb"
	"github.com/seaweedfs/seaweedfs/weed/pb/s3_lifecycle_pb"

	"weedlc/engine"
)

// Survey is what became known of a cluster's servers. Each was asked by itself,
// so one that fails hides no other.
type Survey struct {
	Security Security
	// Masters are those given, in that order; none where both filers and
	// gateways are given and no master is needed.
	Masters []MasterState
	// Filers and Gateways are those given, else those that the first master to
	// answer knows.
	Filers   []FilerState
	Gateways []GatewayState
}

// Security is what this side has of security.toml.
type Security struct {
	// File is the one that was read; empty when there is none.
	File string
	// TLS is set where connections are made with a client certificate,
	// SigningKey where gateways get a token.
	TLS, SigningKey bool
	// Err says why nothing can be asked at all; nil when it can.
	Err error
}

// MasterState is one master. The fields besides Address and Err are those of
// an answer.
type MasterState struct {
	Address string
	Err     error
	// Filers and Gateways are the addresses registered in the filer group.
	Filers, Gateways []string

	versions map[string]string
}

// FilerState is one filer. The fields besides Address and Err are those of an
// answer.
type FilerState struct {
	Address string
	Err     error
	// Version is the release, as in "4.53"; empty when it is not told.
	Version string
	// Signature is that of the filer's store.
	Signature int32
	// BucketsDir is the folder of the buckets. BucketsErr is ErrNotFound of
	// engine where there is none.
	BucketsDir string
	BucketsErr error
	// Ahead is how far the filer's clock is ahead of this host's; it is exact to
	// Within.
	Ahead, Within time.Duration
	ClockErr      error
	// LocksErr is ErrNoLockServer where the filers have not agreed on who of them
	// keeps the locks. Held are the shards that somebody holds, ascending.
	LocksErr error
	Held     []*HeldError
	// HTTPErr says why files could not be read through the HTTP interface.
	HTTPErr error
}

// GatewayState is one S3 gateway.
type GatewayState struct {
	Address string
	// Err is nil where the gateway has the lifecycle service and admits us.
	Err error
	// Version is the one registered at the master; empty when it is not known.
	Version string
}

// Probe asks each server of a cluster for what a pass needs of it. It takes at
// most twice Options.DialTimeout, and changes nothing.
func Probe(ctx context.Context, o Options) Survey {
	o.setDefaults()
	quietGlog()
	creds, err := loadCredentials(o.SecurityDirs, clientComponent)
	if err != nil {
		return Survey{Security: Security{Err: err}}
	}
	s := Survey{Security: Security{File: creds.file, TLS: creds.tls, SigningKey: len(creds.signingKey) > 0}}
	c := &Cluster{options: o, dialer: &dialer{creds: creds, allowPlaintext: o.AllowPlaintext, timeout: o.DialTimeout}}

	filers, gateways := o.Filers, o.Gateways
	versions := map[string]string{}
	if len(filers) == 0 || len(gateways) == 0 {
		s.Masters = inParallel(o.Masters, func(name string) MasterState { return c.probeMaster(ctx, name) })
		if i := slices.IndexFunc(s.Masters, func(m MasterState) bool { return m.Err == nil }); i >= 0 {
			m := s.Masters[i]
			versions = m.versions
			if len(filers) == 0 {
				filers = m.Filers
			}
			if len(gateways) == 0 {
				gateways = m.Gateways
			}
		}
	}
	var both sync.WaitGroup
	both.Go(func() {
		s.Filers = inParallel(filers, func(name string) FilerState { return c.probeFiler(ctx, name) })
	})
	both.Go(func() {
		s.Gateways = inParallel(gateways, func(name string) GatewayState {
			return GatewayState{Address: name, Err: c.probeGateway(ctx, name), Version: versions[name]}
		})
	})
	both.Wait()
	return s
}

// inParallel is what fn makes of each name, in their order.
func inParallel[T any](names []string, fn func(string) T) []T {
	out := make([]T, len(names))
	var wg sync.WaitGroup
	for i, name := range names {
		wg.Go(func() { out[i] = fn(name) })
	}
	wg.Wait()
	return out
}

func (c *Cluster) probeMaster(ctx context.Context, name string) MasterState {
	ctx, cancel := c.dialer.probing(ctx)
	defer cancel()
	s := MasterState{Address: name, versions: map[string]string{}}
	for kind, to := range map[string]*[]string{filerType: &s.Filers, gatewayType: &s.Gateways} {
		nodes, err := c.ask(ctx, name, kind)
		if err != nil {
			return MasterState{Address: name, Err: err}
		}
		*to = addresses(nodes)
		for _, n := range nodes {
			s.versions[n.Address] = release(n.Version)
		}
	}
	return s
}

// release is the number in a server's version, which has other words around it
// ("30GB 4.53 d3b1f0a"); empty when there is none.
func release(version string) string {
	for word := range strings.FieldsSeq(version) {
		if major, minor, ok := strings.Cut(word, "."); ok && isNumber(major) && isNumber(minor) {
			return word
		}
	}
	return ""
}

func isNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

func (c *Cluster) probeGateway(ctx context.Context, name string) error {
	ctx, cancel := c.dialer.probing(ctx)
	defer cancel()
	e, err := c.dialer.open(ctx, Gateway, name)
	if err != nil {
		return err
	}
	defer e.conn.Close()
	return c.admits(ctx, &gateway{endpoint: e, client: s3_lifecycle_pb.NewSeaweedS3LifecycleInternalClient(e.conn)})
}

func (c *Cluster) probeFiler(ctx context.Context, name string) FilerState {
	ctx, cancel := c.dialer.probing(ctx)
	defer cancel()
	s := FilerState{Address: name}
	e, err := c.dialer.open(ctx, Filer, name)
	if err != nil {
		s.Err = err
		return s
	}
	defer e.conn.Close()
	client := filer_pb.NewSeaweedFilerClient(e.conn)
	conf, err := client.GetFilerConfiguration(ctx, &filer_pb.GetFilerConfigurationRequest{})
	if err != nil {
		s.Err = c.dialer.explain(ctx, e, cause(ctx, err))
		return s
	}
	s.Version, s.Signature = release(conf.Version), conf.Signature
	s.BucketsDir = cmp.Or(conf.DirBuckets, defaultBuckets)

	// One filer at its own connection, whatever another would answer.
	one := &Cluster{options: c.options, dialer: c.dialer, filers: []*filer{{endpoint: e, client: client}}}
	var checks sync.WaitGroup
	checks.Go(func() { s.Ahead, s.Within, s.ClockErr = one.compareClocks(ctx) })
	checks.Go(func() { s.Held, s.LocksErr = one.whoHolds(ctx) })
	checks.Go(func() { s.BucketsErr = one.findFolder(ctx, s.BucketsDir) })
	checks.Go(func() { s.HTTPErr = one.probeHTTP(ctx) })
	checks.Wait()
	return s
}

func (c *Cluster) findFolder(ctx context.Context, folder string) error {
	dir, name := path.Split(folder)
	e, err := c.lookup(ctx, cmp.Or(strings.TrimSuffix(dir, "/"), "/"), name)
	if err == nil && !e.IsDirectory {
		return fmt.Errorf("%q is a file", folder)
	}
	return err
}

// clockSamples is how often the clock is read: what counts is the reading that
// took least time.
const clockSamples = 3

func (c *Cluster) compareClocks(ctx context.Context) (ahead, within time.Duration, err error) {
	within = math.MaxInt64
	for range clockSamples {
		sent := time.Now()
		theirs, err := c.Now(ctx)
		if err != nil {
			return 0, 0, err
		}
		took := time.Since(sent)
		if half := took / 2; half < within {
			ahead, within = theirs.Sub(sent.Add(half)), half
		}
	}
	return ahead, within, nil
}

// nobodysToken renews no lock. A filer answers who holds the lock, or that
// nobody does, and leaves it as it is. FindLockOwner has the same answer for a
// lock that is free and for a filer without a lock service.
const nobodysToken = "weedlc-asks"

// whoHolds asks for the holder of each shard.
func (c *Cluster) whoHolds(ctx context.Context) ([]*HeldError, error) {
	var list []*HeldError
	asker := &Held{cluster: c}
	for shard := range engine.ShardCount {
		err := asker.lock(ctx, &lease{shard: shard, token: nobodysToken})
		var held *HeldError
		switch {
		case errors.As(err, &held):
			list = append(list, held)
		case errors.Is(err, errNotReady):
			return nil, fmt.Errorf("%w: %w", ErrNoLockServer, err)
		case !errors.Is(err, errForgotten):
			return nil, err
		}
	}
	return list, nil
}

// probeHTTP reads through the HTTP interface, as a file in chunks needs it. Any
// answer but a refusal will do.
func (c *Cluster) probeHTTP(ctx context.Context) error {
	resp, err := c.get(ctx, c.filers[0], url.URL{Path: "/etc/", RawQuery: "limit=1"})
	if err != nil {
		return cause(ctx, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden {
		return fmt.Errorf("answers %q", resp.Status)
	}
	return nil
}
