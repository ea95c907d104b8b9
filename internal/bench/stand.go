package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/seaweedfs/seaweedfs/weed/pb/s3_lifecycle_pb"

	"weedlc/internal/weedtest"
)

// stand is one throwaway SeaweedFS and the connections to it.
type stand struct {
	*weedtest.Client
	server  *weedtest.Cluster
	tb      weedtest.TB
	gateway s3_lifecycle_pb.SeaweedS3LifecycleInternalClient
	// scratch is a directory that goes with the stand.
	scratch string
	seeder  *seeder
}

// onStands does something on a fresh stand for each of a list, one after the
// other, and that a number of rounds, each of which begins with another one. The
// servers start together, because a start is mostly waiting; an idle one takes a
// hundredth of a core.
func onStands[T any](ctx context.Context, list []T, rounds int, do func(round int, of T, s *stand) error) (err error) {
	servers := make([]*weedtest.Cluster, len(list))
	starts := make([]error, len(list))
	var wg sync.WaitGroup
	for i := range list {
		wg.Go(func() { servers[i], starts[i] = weedtest.Start(ctx, weedtest.Config{}) })
	}
	wg.Wait()
	defer func() {
		for _, server := range servers {
			if server != nil {
				err = errors.Join(err, server.Close())
			}
		}
	}()
	if err := errors.Join(starts...); err != nil {
		return err
	}
	for round := range rounds {
		for i := range list {
			at := (i + round) % len(list)
			err := onStand(ctx, servers[at], func(s *stand) error { return do(round, list[at], s) })
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func onStand(ctx context.Context, server *weedtest.Cluster, do func(*stand) error) error {
	return weedtest.Guarded(ctx, func(tb weedtest.TB) error {
		conn, err := server.Dial(server.Addr(weedtest.Gateway).GRPC())
		if err != nil {
			return err
		}
		defer conn.Close()
		s := &stand{
			Client: server.Client(tb), server: server, tb: tb,
			gateway: s3_lifecycle_pb.NewSeaweedS3LifecycleInternalClient(conn),
			scratch: server.Dir(),
		}
		if s.seeder, err = newSeeder(s); err != nil {
			return err
		}
		if err := s.warm(ctx); err != nil {
			return fmt.Errorf("warm the server up: %w", err)
		}
		return do(s)
	})
}

// warm makes the calls that will be measured, so that none is the server's
// first: writes, listings, deletes.
func (s *stand) warm(ctx context.Context) error {
	const bucket, n = "bench-warm", 500
	s.CreateBucket(bucket, weedtest.Plain, "")
	t := flatTree(bucket, n, 1, time.Now().Add(-time.Hour))
	if err := s.seeder.fill(ctx, t); err != nil {
		return err
	}
	requests, err := s.requests(ctx, t)
	if err != nil {
		return err
	}
	if _, err := s.deleteBare(ctx, requests, 8); err != nil {
		return err
	}
	s.Remove("/buckets/" + bucket)
	return nil
}

// settle lets the server finish what it does behind a call's back: the filer
// deletes chunks every second or so, and its store compacts. It also waits until
// a part of the meta-log has been written out, which the filer does once a
// minute or when there is much of it: a cluster without a written log is taken
// for one whose log was trimmed, and walked.
func (s *stand) settle(ctx context.Context) error {
	for len(s.List("/topics/.system/log")) == 0 {
		if err := pause(ctx, time.Second); err != nil {
			return err
		}
	}
	return pause(ctx, 3*time.Second)
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
