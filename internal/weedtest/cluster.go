package weedtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// Cluster is one running SeaweedFS. Its methods are not safe for concurrent
// use with Kill, Freeze, Thaw, Restart and Close.
type Cluster struct {
	config    Config
	slot      *slot
	authority *authority // nil without TLS
	processes []*process
	closed    bool
}

// Start starts a cluster and waits until it serves: gateways and filers
// answer, the master lists them, volumes can be written and locks be taken. It
// takes about ten seconds. The caller closes it.
func Start(ctx context.Context, config Config) (_ *Cluster, err error) {
	binary, err := Binary(ctx)
	if err != nil {
		return nil, err
	}
	s, err := acquireSlot(config.ConventionalPorts)
	if err != nil {
		return nil, err
	}
	c := &Cluster{config: config, slot: s}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Close())
		}
	}()
	if config.TLS {
		if c.authority, err = newAuthority(s.dir); err != nil {
			return nil, err
		}
	}
	if err := c.writeFiles(s.dir); err != nil {
		return nil, err
	}
	for _, role := range config.processRoles() {
		p := &process{role: role, binary: binary, dir: filepath.Join(s.dir, string(role))}
		c.processes = append(c.processes, p)
	}
	for _, p := range c.processes {
		p.args = c.arguments(p.role)
		if err := os.Mkdir(p.dir, 0o700); err != nil {
			return nil, err
		}
		if err := c.writeFiles(p.dir); err != nil {
			return nil, err
		}
		if err := p.start(); err != nil {
			return nil, err
		}
	}
	if err := c.awaitReady(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

// New is Start for one test: it ends with the test, which gets the ends of the
// servers' logs when it fails.
func New(t TB, config Config) *Cluster {
	t.Helper()
	c, err := Start(t.Context(), config)
	if err != nil {
		t.Fatalf("cannot start SeaweedFS: %v", err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%s", c.Logs(40))
		}
		if err := c.Close(); err != nil {
			t.Logf("cannot clean up SeaweedFS: %v", err)
		}
	})
	return c
}

// Close kills the servers and removes their files; a second Close does
// nothing.
func (c *Cluster) Close() error {
	if c.closed {
		return nil
	}
	c.closed = true
	var errs []error
	for _, p := range c.processes {
		errs = append(errs, p.kill())
	}
	return errors.Join(append(errs, c.slot.release())...)
}

// Addr is where a role listens; Server is no role that listens.
func (c *Cluster) Addr(role Role) Address { return c.slot.address(role) }

// S3URL is the endpoint of the first gateway.
func (c *Cluster) S3URL() string { return "http://" + c.Addr(Gateway).HTTP() }

// Dir is a directory with the security.toml that a client of this cluster
// needs.
func (c *Cluster) Dir() string { return c.slot.dir }

// dir is the working directory of the process that plays the role.
func (c *Cluster) dir(role Role) string {
	for _, p := range c.processes {
		if p.role == role {
			return p.dir
		}
	}
	return filepath.Join(c.slot.dir, string(Server))
}

// Logs returns the last lines of every server's log.
func (c *Cluster) Logs(lines int) string {
	var b strings.Builder
	for _, p := range c.processes {
		fmt.Fprintf(&b, "--- %s\n%s\n", p.role, p.logTail(lines))
	}
	return b.String()
}

// Kill ends a process with SIGKILL. What it held in memory is lost: of the
// filer, up to a minute of meta-log.
func (c *Cluster) Kill(role Role) error {
	p, err := c.process(role)
	if err != nil {
		return err
	}
	return p.kill()
}

// Restart starts a process again and waits until the cluster serves: about
// five seconds for a filer, twenty for Server, whose volumes the master holds
// back for a while. A running one is killed first.
func (c *Cluster) Restart(ctx context.Context, role Role) error {
	p, err := c.process(role)
	if err != nil {
		return err
	}
	if err := p.kill(); err != nil {
		return err
	}
	if err := p.start(); err != nil {
		return err
	}
	return c.awaitReady(ctx)
}

// Launch starts a process again, without waiting for anything, so that a test
// sees a cluster that is not all there.
func (c *Cluster) Launch(role Role) error {
	p, err := c.process(role)
	if err != nil {
		return err
	}
	return p.start()
}

// Freeze stops a process without ending it: its connections stay open and
// nothing answers. Thaw lets it go on.
func (c *Cluster) Freeze(role Role) error { return c.signal(role, freeze) }

// Thaw ends a Freeze.
func (c *Cluster) Thaw(role Role) error { return c.signal(role, thaw) }

func (c *Cluster) signal(role Role, send func(*os.Process) error) error {
	p, err := c.process(role)
	if err != nil {
		return err
	}
	if !p.running() {
		return fmt.Errorf("%s is not running", role)
	}
	return send(p.cmd.Process)
}

func (c *Cluster) process(role Role) (*process, error) {
	for _, p := range c.processes {
		if p.role == role {
			return p, nil
		}
	}
	return nil, fmt.Errorf("no process %q: this cluster has %v", role, c.config.processRoles())
}

// Dial connects to a gRPC port of the cluster with the cluster's credentials.
func (c *Cluster) Dial(address string) (*grpc.ClientConn, error) {
	creds := insecure.NewCredentials()
	if c.authority != nil {
		creds = credentials.NewTLS(c.authority.clientTLS())
	}
	return grpc.NewClient(address,
		grpc.WithTransportCredentials(creds),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage)))
}
