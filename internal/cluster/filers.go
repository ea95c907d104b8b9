package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// patience bounds all attempts of one call together.
const patience = 50 * time.Second

// onFiler makes a call on the filer that answered last and, as long as the
// call does not get through, on the others. Each attempt has CallTimeout.
func (c *Cluster) onFiler(ctx context.Context, op string, call func(context.Context, *filer) error) error {
	return c.onFilerWithin(ctx, op, c.options.CallTimeout, call)
}

func (c *Cluster) onFilerWithin(ctx context.Context, op string, timeout time.Duration, call func(context.Context, *filer) error) error {
	return c.failover(ctx, op, func(ctx context.Context, f *filer) error {
		ctx, cancel := context.WithTimeoutCause(ctx, timeout, errSilent{timeout})
		defer cancel()
		return cause(ctx, call(ctx, f))
	})
}

// failover makes attempts until one gets through, whatever its result is.
func (c *Cluster) failover(ctx context.Context, op string, attempt func(context.Context, *filer) error) error {
	start := time.Now()
	first := int(c.current.Load())
	var errs []error
	for i := range c.filers {
		if i > 0 && time.Since(start) > patience-c.options.CallTimeout {
			break
		}
		n := (first + i) % len(c.filers)
		err := attempt(ctx, c.filers[n])
		if err == nil || !unreached(err) || ctx.Err() != nil {
			c.current.Store(int64(n))
			return c.wrap(ctx, c.filers[n], op, err)
		}
		errs = append(errs, c.wrap(ctx, c.filers[n], op, err))
	}
	return errors.Join(errs...)
}

// wrap names the filer and the call in an error. The error of a context that
// the caller ended, and one that the caller's own function returned, stay as
// they are.
func (c *Cluster) wrap(ctx context.Context, f *filer, op string, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", op, context.Cause(ctx))
	}
	var own callerError
	if errors.As(err, &own) {
		return own.error
	}
	e := f.callError(op, err)
	return &e
}

// callerError carries an error that is the caller's, not the filer's.
type callerError struct{ error }

func (e callerError) Unwrap() error { return e.error }

// watchdog ends a context when nothing has been heard for a time. It starts
// asleep.
type watchdog struct {
	timer *time.Timer
	after time.Duration
}

func watch(ctx context.Context, after time.Duration) (context.Context, *watchdog, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &watchdog{after: after, timer: time.AfterFunc(after, func() { cancel(errSilent{after}) })}
	return ctx, w, func() {
		w.timer.Stop()
		cancel(nil)
	}
}

// wake starts the time anew; sleep stops it.
func (w *watchdog) wake()  { w.timer.Reset(w.after) }
func (w *watchdog) sleep() { w.timer.Stop() }
