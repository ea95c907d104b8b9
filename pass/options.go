package pass

import (
	"log/slog"
	"time"

	"golang.org/x/time/rate"

	"weedlc/engine"
)

// Options bound and steer one pass.
type Options struct {
	// Now is the pass's instant. The pass lowers it to the filer's clock when
	// that is behind.
	Now time.Time
	// Shards to run, ascending.
	Shards []int
	// Until ends the pass early with its progress saved; zero is no limit.
	// It is compared with Clock.
	Until time.Time
	// Events bounds the meta-log events read; 0 is no limit.
	Events int64
	// Concurrency is how many deletes are in flight at most; from 1.
	Concurrency int
	// Limiter is shared by every delete of the process; nil is no limit.
	Limiter *rate.Limiter

	// WalkerInterval is the least time between two walks of walk-bound rules; 0
	// is every pass.
	WalkerInterval time.Duration
	// MetaLogRetention is how far back the log reaches; actions with a longer
	// delay are walk-bound. 0 is unbounded.
	MetaLogRetention time.Duration
	// Settle is how long the log may take to show an event.
	Settle time.Duration
	// ReconcileInterval is how often each bucket is walked over all its rules; 0
	// is never.
	ReconcileInterval time.Duration

	// ListConcurrency is how many listing calls of walks are in flight at most; 0
	// is DefaultListConcurrency.
	ListConcurrency int
	// SaveInterval is how often what has been reached is saved while the pass is
	// under way; 0 is DefaultSaveInterval.
	SaveInterval time.Duration
	// PageSize is how many entries one listing call asks for; 0 is
	// DefaultPageSize.
	PageSize int

	// AllowUnfiltered accepts rules with neither Filter nor Prefix.
	AllowUnfiltered bool
	// MidnightClock rounds due times up to the next 00:00 UTC.
	MidnightClock bool

	// Held is asked before every save; an error means that the lock of the
	// shard is lost. Nil is no lock.
	Held func(shard int) error
	// Clock is the wall clock, for Until, the re-reading of rules, waits and
	// durations; time.Now where there is no reason for another.
	Clock func() time.Time

	// Observe is told of every object that was due, once it is settled or has
	// failed, one at a time. It must not keep the pointers. Nil is nobody.
	Observe func(Deletion)
	// Guards keep the pass from doing harm.
	Guards Guards
	// Meter counts what is done. Nil is nobody.
	Meter Meter

	// Log takes warnings and notices; Progress what a person watching wants to
	// see. Neither is nil.
	Log      *slog.Logger
	Progress Progress
}

// Deletion is one object that was due, and what came of it.
type Deletion struct {
	Action  *engine.Action
	Object  *engine.Object
	Due     time.Time
	Outcome Outcome
	Reason  string
}

// Progress is told how far the pass is. Implementations are safe for
// concurrent use and return at once.
type Progress interface {
	// Notice is one line for a person, said once: what will be walked and why.
	Notice(line string)
	// Update replaces the running counts.
	Update(Totals)
}

// Meter counts what a pass or a walk does while it does it. Implementations are
// safe for concurrent use and return at once; they must not keep the pointers.
type Meter interface {
	// Scanned is one meta-log event of a shard.
	Scanned(shard int)
	// RangeRead is one range of the meta-log that was read to its end.
	RangeRead()
	// Walked is how many more entries a walk has looked at for a shard.
	Walked(shard, entries int)
	// Called is one delete call that is about to be sent, retries included, and
	// how long it waited for the limiters.
	Called(waited time.Duration)
	// Settled is one object that was due, once it is settled or has failed.
	Settled(Deletion)
	// Saved is the state of a shard that has just been saved, and how long after
	// the start of the pass.
	Saved(st *engine.ShardState, after time.Duration)
	// Ended is the report, once it is complete.
	Ended(*Report)
}

type unmetered struct{}

func (unmetered) Scanned(int)                             {}
func (unmetered) RangeRead()                              {}
func (unmetered) Walked(int, int)                         {}
func (unmetered) Called(time.Duration)                    {}
func (unmetered) Settled(Deletion)                        {}
func (unmetered) Saved(*engine.ShardState, time.Duration) {}
func (unmetered) Ended(*Report)                           {}

// DefaultSaveInterval is how much work a pass that is killed can lose.
const DefaultSaveInterval = 30 * time.Second

// DefaultListConcurrency is how many listing calls of walks are in flight.
const DefaultListConcurrency = 8

// DefaultPageSize is how many entries one listing call asks for.
const DefaultPageSize = 1024
