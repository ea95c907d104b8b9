package commands

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"weedlc/engine"
	"weedlc/pass"
)

// busyFiler counts the calls in flight; each waits until it may go on.
type busyFiler struct {
	pass.Filer
	in, most atomic.Int64
	// entered is sent to by each call, on is received from before it ends.
	entered, on chan struct{}
}

func (f *busyFiler) call() {
	n := f.in.Add(1)
	for {
		was := f.most.Load()
		if n <= was || f.most.CompareAndSwap(was, n) {
			break
		}
	}
	f.entered <- struct{}{}
	<-f.on
	f.in.Add(-1)
}

func (f *busyFiler) List(context.Context, pass.Page) ([]engine.Entry, error) {
	f.call()
	return nil, nil
}

func (f *busyFiler) Lookup(context.Context, string, string) (engine.Entry, error) {
	f.call()
	return engine.Entry{}, nil
}

func TestScenario36_ListingsInFlightAreCapped(t *testing.T) {
	busy := &busyFiler{entered: make(chan struct{}, 40), on: make(chan struct{})}
	f := capped(busy, 3)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() { _, _ = f.List(t.Context(), pass.Page{}) })
		wg.Go(func() { _, _ = f.Lookup(t.Context(), "b", "k") })
	}
	for range 40 {
		busy.on <- struct{}{}
	}
	wg.Wait()
	if most := busy.most.Load(); most > 3 {
		t.Errorf("%d calls in flight, want 3 at most", most)
	}
}

func TestCappedCallsEndWithTheirContext(t *testing.T) {
	busy := &busyFiler{entered: make(chan struct{}), on: make(chan struct{})}
	f := capped(busy, 1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = f.List(t.Context(), pass.Page{})
	}()
	<-busy.entered
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.List(ctx, pass.Page{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a listing that waits ended with %v", err)
	}
	if _, err := f.Lookup(ctx, "b", "k"); !errors.Is(err, context.Canceled) {
		t.Errorf("a look-up that waits ended with %v", err)
	}
	close(busy.on)
	<-done
}
