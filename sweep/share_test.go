package sweep

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"
)

// A share lasts for two heartbeats after the one that granted it began, ends
// the chunks that run under it, and comes back with the next grant.
func TestShareLasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShare(100)
		if s.granted() || !s.due(time.Minute) {
			t.Error("a share before the first heartbeat")
		}
		s.grant(50, time.Now(), 2*time.Minute)
		if s.limiter.Limit() != 50 || s.limiter.Burst() != 1 || s.due(time.Minute) {
			t.Errorf("limit %g, burst %d", s.limiter.Limit(), s.limiter.Burst())
		}
		held, cancel, ok := s.hold(t.Context())
		defer cancel()
		if !ok {
			t.Fatal("no hold")
		}
		time.Sleep(2*time.Minute - 1)
		synctest.Wait()
		if held.Err() != nil || !s.due(time.Minute) {
			t.Error("ended early")
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if held.Err() == nil || !errors.Is(context.Cause(held), errShareEnded) || s.granted() {
			t.Errorf("lasts on: %v", context.Cause(held))
		}
		waiting := make(chan bool)
		go func() {
			_, cancel, ok := s.hold(t.Context())
			cancel()
			waiting <- ok
		}()
		synctest.Wait()
		s.grant(25, time.Now(), 2*time.Minute)
		if ok := <-waiting; !ok || s.limiter.Limit() != 25 {
			t.Error("a grant wakes nobody")
		}
		// A grant prolongs what is held.
		held, cancel, _ = s.hold(t.Context())
		defer cancel()
		time.Sleep(time.Minute)
		s.grant(25, time.Now(), 2*time.Minute)
		time.Sleep(90 * time.Second)
		synctest.Wait()
		if held.Err() != nil {
			t.Error("a second grant does not prolong")
		}
	})
}

// Nothing is a share of its own: the limiter keeps a rate, and nothing runs.
func TestShareOfNothing(t *testing.T) {
	s := newShare(100)
	s.grant(0, time.Now(), time.Minute)
	if s.granted() || s.limiter.Limit() == 0 || !s.due(time.Hour) {
		t.Errorf("granted %t, limit %g", s.granted(), s.limiter.Limit())
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, ok := s.hold(ended); ok {
		t.Error("a hold on nothing")
	}
	unlimited := newShare(0)
	unlimited.grant(0, time.Now(), time.Minute)
	if !unlimited.granted() || unlimited.limiter != nil {
		t.Error("without a limit there is no share to wait for")
	}
	if s.limiter.Limit() == rate.Inf {
		t.Error("no limit")
	}
}
