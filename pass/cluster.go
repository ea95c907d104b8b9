package pass

import (
	"context"
	"time"

	"weedlc/engine"
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

// Page asks for a part of a folder.
type Page struct {
	Bucket string
	// Folder is inside the bucket, without a trailing slash; empty is the
	// bucket itself.
	Folder string
	// Prefix restricts the names; After is the last name of the page before.
	Prefix, After string
	// Limit is from 1.
	Limit int
}

// LogRange is a half-open stretch of event time: after AfterNs, through
// UntilNs.
type LogRange struct {
	AfterNs, UntilNs int64
	// Paths restricts the events to these prefixes of "bucket/key"; empty is
	// every bucket.
	Paths []string
}

// Gateway is the one call that deletes.
type Gateway interface {
	// Delete sends one LifecycleDelete. An error means that the call did not
	// come back with an outcome.
	Delete(ctx context.Context, req DeleteRequest) (DeleteResponse, error)
}

// DeleteRequest is one verdict to carry out.
type DeleteRequest struct {
	Bucket    string
	Path      string
	VersionID string
	RuleHash  engine.RuleHash
	Kind      engine.Kind
	Identity  engine.Identity
}

// DeleteResponse is the gateway's answer.
type DeleteResponse struct {
	Outcome Outcome
	Reason  string
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

// Outcome is the end of one delete, in the words of the wire, in lower case.
type Outcome string

// The gateway's outcomes, and TransportError for a call that has none.
const (
	Done              Outcome = "done"
	NoopResolved      Outcome = "noop_resolved"
	SkippedObjectLock Outcome = "skipped_object_lock"
	RetryLater        Outcome = "retry_later"
	Blocked           Outcome = "blocked"
	TransportError    Outcome = "transport_error"
)

// Settled reports whether a position may move past the object.
func (o Outcome) Settled() bool {
	return o == Done || o == NoopResolved || o == SkippedObjectLock
}

// Store keeps the states of shards. Load reports damage as an error; only an
// absent cursor is a cold start. Save writes the side file first, then the
// cursor, refuses to replace a file that changed since Load, and updates the
// version tokens in st.
type Store interface {
	Load(ctx context.Context, shard int, now time.Time) (engine.ShardState, error)
	Save(ctx context.Context, st *engine.ShardState) error
}
