package sweep

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// share is a worker's part of the limit. It is granted by heartbeats and ends
// when they fail for too long; chunks run while it lasts.
//
// The limiter's rate is never 0: a reservation made at rate 0 sleeps for ever
// and does not notice a later rate. A share that ended stops the chunks
// instead.
type share struct {
	limiter *rate.Limiter // nil: no limit

	mu sync.Mutex
	// lasts is done when no share is granted.
	lasts  context.Context
	revoke context.CancelFunc
	expiry *time.Timer
	// changed is closed and replaced with each grant.
	changed chan struct{}
	asked   time.Time // start of the last heartbeat that succeeded; zero is none
	zero    bool      // the last grant was nothing
}

var errShareEnded = errors.New("the queue could not be reached for two heartbeats")

func newShare(limit float64) *share {
	s := &share{changed: make(chan struct{})}
	s.lasts, s.revoke = context.WithCancel(context.Background())
	s.revoke()
	if limit > 0 {
		s.limiter = rate.NewLimiter(rate.Limit(limit), 1)
	}
	return s
}

// due says whether it is time for a heartbeat. A worker without a share looks
// for one more often, and so does one whose heartbeat failed.
func (s *share) due(every time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.zero || time.Since(s.asked) >= every
}

// grant takes what a heartbeat that began at asked was given, for a time.
func (s *share) grant(perSecond float64, asked time.Time, lasts time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = asked
	s.zero = s.limiter != nil && perSecond <= 0
	if s.zero {
		s.revoke()
		return
	}
	if s.limiter != nil {
		s.limiter.SetLimit(rate.Limit(perSecond))
	}
	if s.lasts.Err() != nil {
		s.lasts, s.revoke = context.WithCancel(context.Background())
		close(s.changed)
		s.changed = make(chan struct{})
	}
	if s.expiry != nil {
		s.expiry.Stop()
	}
	s.expiry = time.AfterFunc(time.Until(asked.Add(lasts)), s.revoke)
}

func (s *share) granted() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lasts.Err() == nil
}

// hold waits for a share and returns a context that ends with it. It is not ok
// when ctx ended first.
func (s *share) hold(ctx context.Context) (context.Context, context.CancelFunc, bool) {
	for {
		s.mu.Lock()
		lasts, changed := s.lasts, s.changed
		s.mu.Unlock()
		if lasts.Err() == nil {
			held, cancel := context.WithCancelCause(ctx)
			unlink := context.AfterFunc(lasts, func() { cancel(errShareEnded) })
			return held, func() { unlink(); cancel(nil) }, true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx, func() {}, false
		}
	}
}
