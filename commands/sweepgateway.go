package commands

import (
	"context"
	"errors"
	"sync"
	"time"

	"weedlc/pass"
)

// patientGateway keeps the gateway's wishes for a pause: an object is not sent
// again before its time.
type patientGateway struct {
	pass.Gateway
	now  func() time.Time
	keys *keyLocks

	mu     sync.Mutex
	latest time.Time
	// until is when each object may be sent again.
	until map[sentObject]time.Time
}

type sentObject struct{ bucket, path, version string }

// notYet answers for a gateway that has asked for a pause. It implements
// pass.RetryInfo.
type notYet struct{ wait time.Duration }

func (e notYet) Error() string {
	return "the gateway asked for a pause of which " + formatDuration(e.wait.Round(time.Millisecond)) + " are left"
}

// RetryAfter implements pass.RetryInfo.
func (e notYet) RetryAfter() time.Duration { return e.wait }

// Delete implements pass.Gateway.
func (g *patientGateway) Delete(ctx context.Context, req pass.DeleteRequest) (pass.DeleteResponse, error) {
	name := sentObject{req.Bucket, req.Path, req.VersionID}
	g.mu.Lock()
	wait := g.until[name].Sub(g.now())
	g.mu.Unlock()
	if wait > 0 {
		return pass.DeleteResponse{}, notYet{wait}
	}
	release, err := g.keys.take(ctx, sentObject{bucket: req.Bucket, path: req.Path})
	if err != nil {
		return pass.DeleteResponse{}, err
	}
	defer release()
	resp, err := g.Gateway.Delete(ctx, req)
	var info pass.RetryInfo
	if errors.As(err, &info) {
		g.mu.Lock()
		defer g.mu.Unlock()
		until := g.now().Add(info.RetryAfter())
		if g.until == nil {
			g.until = map[sentObject]time.Time{}
		}
		g.until[name] = until
		if until.After(g.latest) {
			g.latest = until
		}
	}
	return resp, err
}

// wish is how long the gateway still wants to be left alone; 0 is not at all.
func (g *patientGateway) wish() time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	return max(0, g.latest.Sub(g.now()))
}

// keyLocks let one delete of a key be under way at a time. The versions of a key
// may belong to several shards, whose passes then send the same delete; the
// gateway looks at what is latest and makes a delete marker in two steps, so two
// calls at once could make two. The second of two in a row finds nothing to do.
type keyLocks struct {
	mu sync.Mutex
	// held has a channel for each key that closes when it is free.
	held map[sentObject]chan struct{}
}

func newKeyLocks() *keyLocks { return &keyLocks{held: map[sentObject]chan struct{}{}} }

// take waits for a key until ctx ends.
func (l *keyLocks) take(ctx context.Context, key sentObject) (release func(), err error) {
	for {
		l.mu.Lock()
		busy := l.held[key]
		if busy == nil {
			free := make(chan struct{})
			l.held[key] = free
			l.mu.Unlock()
			return func() {
				l.mu.Lock()
				delete(l.held, key)
				l.mu.Unlock()
				close(free)
			}, nil
		}
		l.mu.Unlock()
		select {
		case <-busy:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
