package e2e_test

import (
	"context"
	"time"

	"weedlc/engine"
	"weedlc/pass"
)

// filer is the cluster's filer with chosen faults.
type filer struct {
	pass.Filer
	// at is what the clock shows; zero is the time. It may be ahead: no event is
	// from then, so the log is read up to the time.
	at time.Time
	// logged is where the log begins as long as the filer holds all of it in
	// memory: after a minute or so it lies in a file, which begins there.
	logged time.Time
	// event, when set, is handed each event of the log and passes it on or not.
	event func(e *engine.Event, on func(*engine.Event) error) error
	// reads, when set, is told of each range that is read, and may refuse.
	reads func(pass.LogRange) error
	// lists, when set, is told of each page that is listed, and may refuse.
	lists func(pass.Page) error
}

func (f *filer) Now(ctx context.Context) (time.Time, error) {
	if !f.at.IsZero() {
		return f.at, nil
	}
	return f.Filer.Now(ctx)
}

func (f *filer) ReadLog(ctx context.Context, rng pass.LogRange, fn func(*engine.Event) error) error {
	if f.reads != nil {
		if err := f.reads(rng); err != nil {
			return err
		}
	}
	now, err := f.Filer.Now(ctx)
	if err != nil {
		return err
	}
	if rng.UntilNs = min(rng.UntilNs, now.UnixNano()); rng.UntilNs <= rng.AfterNs {
		return nil
	}
	return f.Filer.ReadLog(ctx, rng, func(e *engine.Event) error {
		if f.event != nil {
			return f.event(e, fn)
		}
		return fn(e)
	})
}

func (f *filer) LogHorizon(ctx context.Context) (int64, error) {
	start, err := f.Filer.LogHorizon(ctx)
	if err == nil && start == 0 {
		start = f.logged.UnixNano()
	}
	return start, err
}

func (f *filer) List(ctx context.Context, p pass.Page) ([]engine.Entry, error) {
	if f.lists != nil {
		if err := f.lists(p); err != nil {
			return nil, err
		}
	}
	return f.Filer.List(ctx, p)
}

// gateway is the cluster's gateway with something done before each delete.
type gateway struct {
	pass.Gateway
	// before, when set, is safe for concurrent use.
	before func()
}

func (g *gateway) Delete(ctx context.Context, req pass.DeleteRequest) (pass.DeleteResponse, error) {
	if g.before != nil {
		g.before()
	}
	return g.Gateway.Delete(ctx, req)
}
