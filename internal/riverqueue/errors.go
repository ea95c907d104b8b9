package riverqueue

import (
	"context"
	"errors"
	"fmt"

	"weedlc/sweep"
)

// Error is what went wrong with a queue, for people. Hint says what to do and
// may be empty. Neither it nor what it wraps shows a password.
type Error struct {
	Queue string
	Err   error
	Hint  string
}

func (e *Error) Error() string { return fmt.Sprintf("queue %q: %v", e.Queue, e.Err) }

func (e *Error) Unwrap() error { return e.Err }

// explained is a refusal of our own, with a hint.
type explained struct{ what, hint string }

func (e *explained) Error() string { return e.what }

func notOurs() error {
	return &explained{"is not a queue of weedlc", "name another place for the queue with --queue"}
}

func noSchema() error {
	return &explained{"there is no queue yet", "run: weedlc sweep migrate"}
}

// wrap names the queue and says in words what the database refused.
func wrap(location Location, err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, sweep.ErrNotFound) ||
		errors.Is(err, sweep.ErrClosed) || errors.Is(err, sweep.ErrLeaseLost) {
		return err
	}
	if _, done := errors.AsType[*Error](err); done {
		return err
	}
	e := &Error{Queue: location.String(), Err: err}
	if x, ok := errors.AsType[*explained](err); ok {
		e.Hint = x.hint
		return e
	}
	explain := explainSQLite
	if location.Kind == KindPostgres {
		explain = explainPostgres
	}
	if what, hint := explain(err); what != "" {
		e.Err, e.Hint = fmt.Errorf("%s: %w", what, err), hint
	}
	return e
}
