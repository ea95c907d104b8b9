package weedtest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/seaweedfs/seaweedfs/weed/pb/filer_pb"
	"github.com/seaweedfs/seaweedfs/weed/pb/master_pb"
)

const (
	startTimeout = 90 * time.Second
	readyPoll    = 50 * time.Millisecond
	probeTimeout = 5 * time.Second
)

// awaitReady waits until every probe has succeeded once, in their order.
func (c *Cluster) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	tick := time.NewTicker(readyPoll)
	defer tick.Stop()
	for _, probe := range c.probes() {
		for {
			err := c.try(ctx, probe.run)
			if err == nil {
				break
			}
			for _, p := range c.processes {
				if !p.running() {
					return fmt.Errorf("%s ended while the cluster started:\n%s", p.role, p.logTail(40))
				}
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				return fmt.Errorf("%s: %w (%w)\n%s", probe.name, err, ctx.Err(), c.Logs(40))
			}
		}
	}
	return nil
}

func (c *Cluster) try(ctx context.Context, run func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	return run(ctx)
}

type probe struct {
	name string
	run  func(context.Context) error
}

func (c *Cluster) probes() []probe {
	var list []probe
	for _, role := range c.config.gatewayRoles() {
		list = append(list, probe{"gateway", func(ctx context.Context) error { return c.probeGateway(ctx, role) }})
	}
	list = append(list,
		probe{"filers at the master", func(ctx context.Context) error {
			return c.probeMembers(ctx, "filer", len(c.config.filerRoles()))
		}},
		probe{"gateways at the master", func(ctx context.Context) error {
			return c.probeMembers(ctx, "s3", len(c.config.gatewayRoles()))
		}},
	)
	for _, role := range c.config.filerRoles() {
		list = append(list,
			probe{"volume for " + string(role), func(ctx context.Context) error { return c.probeVolume(ctx, role) }},
			probe{"lock on " + string(role), func(ctx context.Context) error { return c.probeLock(ctx, role) }},
		)
	}
	return list
}

// probeGateway takes any answer: a gateway with identities refuses this
// request.
func (c *Cluster) probeGateway(ctx context.Context, role Role) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.Addr(role).HTTP()+"/", nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

func (c *Cluster) probeMembers(ctx context.Context, kind string, want int) error {
	conn, err := c.Dial(c.Addr(Master).GRPC())
	if err != nil {
		return err
	}
	defer conn.Close()
	resp, err := master_pb.NewSeaweedClient(conn).ListClusterNodes(ctx, &master_pb.ListClusterNodesRequest{ClientType: kind})
	if err != nil {
		return err
	}
	if got := len(resp.GetClusterNodes()); got != want {
		return fmt.Errorf("%d of %d are registered", got, want)
	}
	return nil
}

func (c *Cluster) probeVolume(ctx context.Context, role Role) error {
	return c.withFiler(role, func(filer filer_pb.SeaweedFilerClient) error {
		resp, err := filer.AssignVolume(ctx, &filer_pb.AssignVolumeRequest{Count: 1})
		if err != nil {
			return err
		}
		if resp.GetError() != "" {
			return errors.New(resp.GetError())
		}
		return nil
	})
}

func (c *Cluster) probeLock(ctx context.Context, role Role) error {
	return c.withFiler(role, func(filer filer_pb.SeaweedFilerClient) error {
		name := "weedtest-" + string(role)
		lock, err := filer.DistributedLock(ctx, &filer_pb.LockRequest{Name: name, SecondsToLock: 5, Owner: name})
		if err != nil {
			return err
		}
		if lock.GetError() != "" {
			return errors.New(lock.GetError())
		}
		resp, err := filer.DistributedUnlock(ctx, &filer_pb.UnlockRequest{Name: name, RenewToken: lock.GetRenewToken()})
		if err != nil {
			return err
		}
		if resp.GetError() != "" {
			return errors.New(resp.GetError())
		}
		return nil
	})
}

func (c *Cluster) withFiler(role Role, fn func(filer_pb.SeaweedFilerClient) error) error {
	conn, err := c.Dial(c.Addr(role).GRPC())
	if err != nil {
		return err
	}
	defer conn.Close()
	return fn(filer_pb.NewSeaweedFilerClient(conn))
}
