package pass

import (
	"context"
	"errors"
	"testing"
	"time"
)

// One reading serves deletes until it is too old, or until the slot that asks
// has sent one since.
func TestPauseIsReadAsOftenAsNeeded(t *testing.T) {
	now := time.Date(2030, 6, 15, 12, 0, 0, 0, time.UTC)
	reads := 0
	why := ""
	p := &pauseWatch{
		clock: func() time.Time { return now },
		read:  func(context.Context) (string, error) { reads++; return why, nil },
	}
	ask := func(sent time.Time, wantReads int) {
		t.Helper()
		if got, err := p.ask(t.Context(), sent); err != nil || got != why {
			t.Errorf("the answer is %q, %v, want %q", got, err, why)
		}
		if reads != wantReads {
			t.Errorf("it was read %d times, want %d", reads, wantReads)
		}
	}
	ask(time.Time{}, 1)
	now = now.Add(pauseMaxAge - 1)
	ask(time.Time{}, 1)
	ask(now.Add(-pauseMaxAge), 1) // sent a moment before the reading began
	ask(now.Add(1-pauseMaxAge), 2)
	ask(now, 3)
	now = now.Add(pauseMaxAge)
	why = "paused"
	ask(time.Time{}, 4)
}

// Whoever waits for a reading that fails has failed with it.
func TestPauseReadingThatFailsIsShared(t *testing.T) {
	reads := 0
	reading, proceed := make(chan struct{}), make(chan struct{})
	p := &pauseWatch{
		clock: time.Now,
		read: func(context.Context) (string, error) {
			if reads++; reads == 1 {
				close(reading)
				<-proceed
				return "", errors.New("silent")
			}
			return "", nil
		},
	}
	errs := make(chan error)
	ask := func() {
		_, err := p.ask(context.Background(), time.Time{})
		errs <- err
	}
	go ask()
	<-reading
	asked := p.clock
	waiting := make(chan struct{}, 2)
	p.clock = func() time.Time { waiting <- struct{}{}; return asked() }
	go ask()
	<-waiting // the second has noted when it asked
	p.clock = asked
	close(proceed)
	for range 2 {
		if err := <-errs; err == nil {
			t.Error("an answer came of a reading that failed")
		}
	}
	go ask()
	if err := <-errs; err != nil || reads != 2 {
		t.Errorf("the next answer is %v after %d readings", err, reads)
	}
}
