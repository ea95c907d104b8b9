package pass

import (
	"context"
	"errors"
	"time"

	"golang.org/x/time/rate"
)

// Guards keep a pass from doing harm. The zero value keeps it from nothing.
type Guards struct {
	// MaxDeletes is how many objects a pass deletes at most; 0 is no limit. What
	// deleted nothing does not count; a call whose answer was lost does.
	MaxDeletes int64
	// MaxFraction is the largest part of a bucket's objects, above 0 and up to 1,
	// that may be due in a bucket that the pass walks: it is counted before the
	// first delete, and a bucket above it is left alone, by replay too. 0 is no
	// limit, and nothing is counted.
	MaxFraction float64
	// BucketLimiter is the limiter of a bucket's deletes, beside the one of all;
	// nil, the function or its result, is no limit.
	BucketLimiter func(bucket string) *rate.Limiter
	// Closed says why nothing may be deleted at a time of Options.Clock; empty is
	// that it may. Nil is never.
	Closed func(now time.Time) (why string)
	// Paused says why nothing may be deleted now; empty is that it may. It is
	// asked before deletes, by one caller at a time. An object that met an error
	// is not sent. Nil is never.
	Paused func(ctx context.Context) (why string, err error)
	// Audit keeps a record of every object that was due and settled or failed;
	// nil is none.
	Audit AuditLog
}

// AuditLog is where settled calls are written down. Implementations are safe
// for concurrent use. Once Append has failed the log is out of use: the pass
// deletes no more and saves no position.
type AuditLog interface {
	// Append writes one record, which outlives the process once it returns. It
	// must not keep the pointers.
	Append(Deletion) error
	// Sync returns once every record outlives the machine.
	Sync() error
}

// Guard names a guard that held.
type Guard string

const (
	GuardPause       Guard = "pause"
	GuardHours       Guard = "hours"
	GuardMaxDeletes  Guard = "max_deletes"
	GuardMaxFraction Guard = "max_fraction"
)

// Held is the report of a pass that must not begin, because it is paused or
// closed; nil when it may begin. Run and Walk see to it themselves: Held spares
// a caller what it does before.
func Held(ctx context.Context, o Options) *Report {
	o.Meter = nil // no pass has begun, so none ends
	w, done := begin(ctx, o, Deps{})
	defer done()
	if !w.heldBack() {
		return nil
	}
	return w.report(ctx, &Report{Now: o.Now}, nil, nil)
}

// heldBack reports whether nothing may be begun.
func (w *work) heldBack() bool {
	g := w.o.Guards
	if g.Closed != nil {
		if why := g.Closed(w.o.Clock()); why != "" {
			w.hold(Problem{Guard: GuardHours, Message: why})
			return true
		}
	}
	if g.Paused == nil {
		return false
	}
	why, err := g.Paused(w.ctx)
	switch {
	case err != nil:
		w.fail(err)
	case why != "":
		w.hold(Problem{Guard: GuardPause, Message: why})
	}
	return err != nil || why != ""
}

// hold ends the pass because a guard holds. The first one is told.
func (w *work) hold(p Problem) {
	w.mu.Lock()
	first := !w.held
	w.held = true
	w.mu.Unlock()
	if !first {
		return
	}
	p.Shard, p.Category = -1, CategoryGuard
	w.problem(p)
	w.cancel(nil)
}

// auditError is the failure to write down what was done.
type auditError struct{ error }

func (e auditError) Unwrap() error { return e.error }

// categoryOf sorts an error that ended the pass.
func categoryOf(err error) Category {
	if errors.As(err, new(auditError)) {
		return CategoryAudit
	}
	return CategoryTransport
}

// accounted has the record of settled calls outlive the machine. It reports
// whether it does. What is then saved was drawn up before: all that it moves past
// is on record.
func (w *work) accounted() bool {
	if w.o.Guards.Audit == nil {
		return true
	}
	if errors.As(w.exec.err(), new(auditError)) {
		return false
	}
	if err := w.o.Guards.Audit.Sync(); err != nil {
		w.problem(Problem{Shard: -1, Category: CategoryAudit, Message: err.Error()})
		w.markFailed()
		w.cancel(err)
		return false
	}
	return true
}
