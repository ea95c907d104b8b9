package sweep

import "time"

// Result sorts what an execution came to.
type Result string

const (
	// Done: the shard's pass is complete; the job is acknowledged.
	Done Result = "done"
	// Cut: the chunk's time was over and there is more to do. It is no attempt and
	// no failure, and the job is ready again at once.
	Cut Result = "cut"
	// Waiting: the shard's lock is held, the cluster is paused or the filer is
	// absent. It is no attempt; the age budget alone counts.
	Waiting Result = "waiting"
	// Retryable: a failure that time may mend. It is an attempt.
	Retryable Result = "retryable"
	// Terminal: a failure that time does not mend. It is a dead letter at once.
	Terminal Result = "terminal"
)

// Category says why, from a closed set of words. A dead letter has one of the
// first four; the others sort retries and waits.
type Category string

const (
	CategoryBlocked  Category = "blocked"                // a delete that the gateway refuses for good
	CategoryInput    Category = "policy_or_input"        // a corrupt cursor, rules or input that cannot be used
	CategoryAttempts Category = "retry_budget_exhausted" // set by Policy
	CategoryAge      Category = "age_budget_exhausted"   // set by Policy

	CategoryRetryLater Category = "retry_later" // the gateway asks for another time
	CategoryTransport  Category = "transport"   // a filer or gateway could not be reached
	CategoryTimeout    Category = "timeout"     // the executor outlived its chunk
	CategoryLost       Category = "worker_lost" // the worker died, or its lease ran out

	CategoryLocked    Category = "locked"     // another pass holds the shard
	CategoryPaused    Category = "paused"     // passes are paused, or work time is over
	CategoryNoFiler   Category = "no_filer"   // no filer answers
	CategoryShardHeld Category = "shard_held" // another job of the shard is being worked
)

// Blocker is the object that a shard stands in front of.
type Blocker struct {
	Bucket    string
	Key       string
	VersionID string
}

// Finding is something that a person must know of and that fails no job: one
// bucket's rules cannot be read. A sweep keeps it once.
type Finding struct {
	Bucket string
	RuleID string
	// Kind is a word such as "rules".
	Kind string
}

// Outcome is what one execution came to. It never carries raw response text.
type Outcome struct {
	Result Result
	// Category is for Waiting, Retryable and Terminal.
	Category Category
	// Blocker is for Retryable and Terminal, if there is one.
	Blocker Blocker
	// RetryAfter is the server's wish (RetryInfo); 0 is none.
	RetryAfter time.Duration
	// Deletes counts the objects that this chunk deleted, by bucket.
	Deletes map[string]int64
	// Findings are kept once for each sweep.
	Findings []Finding
}
