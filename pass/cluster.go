package pass

import (
	"context"
	"time"

	"weedlc/engine"
)

// What goes over the interfaces below is engine's, so that an implementation
// need not import this package.
type (
	// Page asks for a part of a folder.
	Page = engine.Page
	// LogRange is a stretch of event time.
	LogRange = engine.LogRange
	// DeleteRequest is one verdict to carry out.
	DeleteRequest = engine.DeleteRequest
	// DeleteResponse is the gateway's answer.
	DeleteResponse = engine.DeleteResponse
	// Outcome is the end of one delete.
	Outcome = engine.Outcome
)

// The gateway's outcomes, and TransportError for a call that has none.
const (
	Done              = engine.Done
	NoopResolved      = engine.NoopResolved
	SkippedObjectLock = engine.SkippedObjectLock
	RetryLater        = engine.RetryLater
	Blocked           = engine.Blocked
	TransportError    = engine.TransportError
)

// Filer is what a pass reads. Implementations are safe for concurrent use.
// A missing bucket or entry is engine.ErrNotFound.
type Filer interface {
	// Now is the filer's clock.
	Now(ctx context.Context) (time.Time, error)

	// Buckets lists every bucket, in the order of their names.
	Buckets(ctx context.Context) ([]engine.Bucket, error)
	Bucket(ctx context.Context, name string) (engine.Bucket, error)

	// List returns one page of a folder's entries in the order of their names.
	// A missing folder is an empty page. A page shorter than the limit is the
	// last one.
	List(ctx context.Context, page Page) ([]engine.Entry, error)
	// Lookup returns the entry at a path inside the bucket; a trailing slash
	// does not matter.
	Lookup(ctx context.Context, bucket, path string) (engine.Entry, error)

	// ReadLog hands over the events of a range in the order of the log and
	// returns nil once the range has been read to its end. It stops at the
	// first error of fn and returns it. A stream that falls silent is an error.
	ReadLog(ctx context.Context, r LogRange, fn func(*engine.Event) error) error
	// LogHorizon is the start of the oldest piece of log, in Unix nanoseconds;
	// 0 is unknown.
	LogHorizon(ctx context.Context) (int64, error)
}

// Gateway is the one call that deletes.
type Gateway interface {
	// Delete sends one LifecycleDelete. An error means that the call did not
	// come back with an outcome.
	Delete(ctx context.Context, req DeleteRequest) (DeleteResponse, error)
}

// RetryInfo is implemented by a Gateway's error that carries the server's
// wish for a pause before the next attempt.
type RetryInfo interface {
	error
	RetryAfter() time.Duration
}

// Permanent is implemented by a Gateway's error that another attempt cannot
// mend: a refused authentication, a missing service, a failed handshake. It
// ends the pass.
type Permanent interface {
	error
	Permanent() bool
}

// Damage is implemented by a Store's error that says that a cursor itself is
// corrupt, and not that it could not be reached.
type Damage interface {
	error
	Corrupt() bool
}

// Store keeps the states of shards. Load reports damage as an error that is a
// Damage; only an absent cursor is a cold start. Save writes the side file first, then the
// cursor, refuses to replace a file that changed since Load, and updates the
// version tokens in st.
type Store interface {
	Load(ctx context.Context, shard int, now time.Time) (engine.ShardState, error)
	Save(ctx context.Context, st *engine.ShardState) error
}
