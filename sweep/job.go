package sweep

import (
	"context"
	"time"

	"golang.org/x/time/rate"
)

// Key names one logical job for ever.
type Key struct {
	Sweep string
	Shard int
	// Generation is 0 as admitted and one more with each redrive.
	Generation int
}

// Job is one shard's part of one sweep. It carries identifiers, the policy
// version and times, no contents and no addresses.
type Job struct {
	Key
	// ID is the queue's; a redrive has a new one.
	ID int64
	// Policy is the short hash of the rule set at admission. It is for the
	// record: rules are read at execution.
	Policy string
	// RedriveOf is the dead letter that this job was made from; 0 is none.
	RedriveOf int64
	// AdmittedAt is when this job was made; the age budget counts from it.
	AdmittedAt time.Time
	// AvailableAt is the time before which it is not executed.
	AvailableAt time.Time
	// Attempt is the number of this execution, from 1. A chunk that was cut and a
	// wait are no attempt; a worker that died is.
	Attempt int
}

// Chunk is one bounded execution of a job.
type Chunk struct {
	Job Job
	// Until is when the executor is to save its progress and return Cut. Soon
	// after it the context ends.
	Until time.Time
	// Limiter is the worker's share of the cluster's deletes a second, shared by
	// its chunks; nil is no limit. Its rate changes while the chunk runs.
	Limiter *rate.Limiter
}

// Executor runs one chunk. It reads rules, locks and holds itself, is safe to
// repeat, and returns promptly with its progress saved when ctx ends.
type Executor func(ctx context.Context, c Chunk) Outcome
