package sweep

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Errors of a Queue, to be tested with errors.Is. Nothing is changed by a call
// that returns one.
var (
	// ErrNotFound: no such job or dead letter.
	ErrNotFound = errors.New("not found")
	// ErrClosed: the dead letter is no longer open. The error is a
	// *ClosedError.
	ErrClosed = errors.New("dead letter is closed")
	// ErrLeaseLost: the decision came after the lease had ended.
	ErrLeaseLost = errors.New("lease lost")
)

// Queue is the durable state of sweeps. Implementations are safe for
// concurrent use, by many processes too.
type Queue interface {
	// Admit makes a job of each shard of the sweep that has none yet, in one
	// transaction: generation 0, ready at now. It returns the jobs that it made,
	// ascending by shard.
	Admit(ctx context.Context, a Admission) ([]Job, error)
	// Lease hands ready jobs to handle, as many at a time as o says, until ctx
	// ends, and settles each with the decision that handle returns, fenced by its
	// lease. Once ctx ends it leases nothing more, ends the contexts of running
	// handlers and waits at most o.StopWithin for them; what has not returned
	// then is left to the expiry of its lease. An outage of the database is
	// waited out. It returns nil after ctx ended, an error when it cannot go on:
	// a handler outlived its lease.
	Lease(ctx context.Context, o LeaseOptions, handle Handler) error
	// Expire buries every job that is not leased and was admitted before the
	// given time, as CategoryAge, and returns their ids.
	Expire(ctx context.Context, admittedBefore, now time.Time) ([]int64, error)
	// Unfinished counts the jobs that are neither done nor dead.
	Unfinished(ctx context.Context, now time.Time) (Unfinished, error)

	// Jobs lists the jobs of a sweep, ascending by shard and generation. An
	// unknown sweep is ErrNotFound.
	Jobs(ctx context.Context, sweep string, now time.Time) ([]JobRecord, error)
	// DeadLetters lists dead letters, the oldest first.
	DeadLetters(ctx context.Context, f LetterFilter) ([]DeadLetter, error)
	// DeadLetter returns one, open or closed, or ErrNotFound.
	DeadLetter(ctx context.Context, jobID int64) (DeadLetter, error)
	// Redrive makes one new job of an open dead letter, with a new id, the next
	// generation and fresh budgets, and closes the letter. A closed letter is a
	// *ClosedError.
	Redrive(ctx context.Context, jobID int64, act Act) (Job, error)
	// Discard closes an open dead letter.
	Discard(ctx context.Context, jobID int64, act Act) error
	// History lists events, the oldest first.
	History(ctx context.Context, f HistoryFilter) ([]Event, error)

	// Figures measures the queue at now; rates are over the window before it.
	Figures(ctx context.Context, now time.Time, window time.Duration) (Figures, error)

	// Beat records that a worker lives and returns its share of the limit; see
	// the package documentation. Beats are serialized.
	Beat(ctx context.Context, b Beat) (share float64, err error)
	// Leave takes a worker out of the heartbeat table.
	Leave(ctx context.Context, worker string) error

	// Prune removes what is finished and closed since before the given time. Keys
	// of jobs and open dead letters stay.
	Prune(ctx context.Context, before time.Time) (Pruned, error)
}

// ClosedError says how a dead letter was closed before.
type ClosedError struct{ Letter DeadLetter }

// Admission is one sweep to admit.
type Admission struct {
	Sweep  string
	Shards []int
	Policy string
	Now    time.Time
}

// Handler executes one leased job and decides what becomes of it. ctx ends
// with the caller's, and at half of the lease.
type Handler func(ctx context.Context, j Job) Decision

// LeaseOptions steer Lease.
type LeaseOptions struct {
	Worker string
	Jobs   int // at a time; from 1
	// Duration is how long after a lease was taken another worker may take the
	// job. A handler's context ends after half of it.
	Duration time.Duration
	// StopWithin bounds the end of Lease.
	StopWithin time.Duration
	// Settled is told of every decision: with nil once it is recorded, with
	// ErrLeaseLost when it came too late and changed nothing.
	Settled func(Job, Decision, error)
}

// Total is the number of unfinished jobs.
func (u Unfinished) Total() int { return u.Ready + u.Running + u.Waiting + u.Retrying }

// Unfinished counts jobs that are neither done nor dead.
type Unfinished struct {
	Ready    int // could be leased now
	Running  int
	Waiting  int // for a lock, a pause, a filer or a shard
	Retrying int // for the time of a retry
}

// JobState is where a job stands.
type JobState string

const (
	JobReady    JobState = "ready"
	JobRunning  JobState = "running"
	JobWaiting  JobState = "waiting"
	JobRetrying JobState = "retrying"
	JobDone     JobState = "done"
	// JobDead and the three after it are those of its dead letter.
	JobDead       JobState = "dead"
	JobRedriven   JobState = "redriven"
	JobDiscarded  JobState = "discarded"
	JobSuperseded JobState = "superseded"
)

// JobRecord is a job and where it stands.
type JobRecord struct {
	Job
	State JobState
	// LastSeen is the end of its last execution, ClosedAt the time when it was
	// done or its dead letter closed; zero is none.
	LastSeen, ClosedAt time.Time
}

// Pruned counts what Prune removed.
type Pruned struct {
	Jobs, DeadLetters, Events, Chunks int64
}

// Beat is one heartbeat.
type Beat struct {
	Worker string
	Host   string
	PID    int
	Jobs   int
	// Limit is R, the deletes a second of all workers; 0 is no limit.
	Limit float64
	// Every is the interval of heartbeats. A worker is live for three of them.
	Every time.Duration
}

func (e *ClosedError) Error() string {
	by := ""
	if e.Letter.ClosedBy != 0 {
		by = fmt.Sprintf(" by job %d", e.Letter.ClosedBy)
	}
	return fmt.Sprintf("dead letter %d is %s%s since %s",
		e.Letter.JobID, e.Letter.State, by, e.Letter.ClosedAt.UTC().Format(time.RFC3339))
}

// Is makes a ClosedError an ErrClosed.
func (e *ClosedError) Is(target error) bool { return target == ErrClosed }
