package commands

import (
	"context"

	"weedlc/engine"
	"weedlc/pass"
)

// cappedFiler lets a bounded number of listings and look-ups reach a filer at a
// time.
type cappedFiler struct {
	pass.Filer
	slots chan struct{}
}

func capped(f pass.Filer, most int) cappedFiler {
	return cappedFiler{Filer: f, slots: make(chan struct{}, most)}
}

// List implements pass.Filer.
func (f cappedFiler) List(ctx context.Context, page pass.Page) ([]engine.Entry, error) {
	if err := f.enter(ctx); err != nil {
		return nil, err
	}
	defer f.leave()
	return f.Filer.List(ctx, page)
}

// Lookup implements pass.Filer.
func (f cappedFiler) Lookup(ctx context.Context, bucket, path string) (engine.Entry, error) {
	if err := f.enter(ctx); err != nil {
		return engine.Entry{}, err
	}
	defer f.leave()
	return f.Filer.Lookup(ctx, bucket, path)
}

func (f cappedFiler) enter(ctx context.Context) error {
	select {
	case f.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (f cappedFiler) leave() { <-f.slots }
