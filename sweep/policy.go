package sweep

import "time"

// Policy holds the budgets and delays.
type Policy struct {
	// MaxAttempts is how many executions may fail before the job is a dead
	// letter; from 1.
	MaxAttempts int
	// MaxAge is how long after its admission a job may still be executed.
	MaxAge time.Duration
	// RetryFirst doubles with each attempt up to RetryMax; a server's RetryInfo
	// that is later wins. Up to a quarter is added as jitter, to either.
	RetryFirst, RetryMax time.Duration
	// Wait is the pause before a job that is Waiting is looked at again; up to a
	// quarter is added as jitter.
	Wait time.Duration
}

// DefaultPolicy is five attempts within six hours, 30 s doubled to 30 min.
func DefaultPolicy() Policy {
	return Policy{
		MaxAttempts: 5, MaxAge: 6 * time.Hour,
		RetryFirst: 30 * time.Second, RetryMax: 30 * time.Minute, Wait: 30 * time.Second,
	}
}

// LeaseDuration is the lease that fits a chunk. A handler's context ends at
// half of the lease, so that a chunk may overrun by half of its time; the other
// half is for clocks that differ and a slow database.
func LeaseDuration(chunk time.Duration) time.Duration { return 3 * chunk }

// Step is what becomes of a job.
type Step string

const (
	Acknowledge Step = "acknowledge" // done, for ever
	Again       Step = "again"       // ready at once, no attempt
	WaitUntil   Step = "wait"        // ready at At, no attempt
	RetryAt     Step = "retry"       // ready at At, one attempt more
	Bury        Step = "bury"        // a dead letter
)

// Decision is what the queue records and does, in one transaction.
type Decision struct {
	Step     Step
	At       time.Time // for WaitUntil and RetryAt
	Category Category
	Blocker  Blocker
	Deletes  map[string]int64
	Findings []Finding
	// Executed is false when nothing was executed: a budget had ended the job.
	Executed bool
}

// Exhausted decides about a job whose budgets are spent before it is
// executed: its last workers died, or it has waited too long.
func (p Policy) Exhausted(j Job, now time.Time) (Decision, bool) {
	switch {
	case now.Sub(j.AdmittedAt) > p.MaxAge:
		return Decision{Step: Bury, Category: CategoryAge}, true
	case j.Attempt > p.MaxAttempts:
		return Decision{Step: Bury, Category: CategoryAttempts}, true
	}
	return Decision{}, false
}

// Decide turns the outcome of an execution into what becomes of the job.
// Jitter is in [0, 1).
func (p Policy) Decide(j Job, o Outcome, now time.Time, jitter float64) Decision {
	d := Decision{
		Category: o.Category, Blocker: o.Blocker, Deletes: o.Deletes, Findings: o.Findings, Executed: true,
	}
	later := func(delay time.Duration) time.Time {
		delay = max(delay, o.RetryAfter)
		return now.Add(delay + time.Duration(jitter*float64(delay)/4))
	}
	switch o.Result {
	case Done:
		d.Step, d.Category = Acknowledge, ""
	case Cut:
		d.Step, d.Category = Again, ""
	case Waiting:
		d.Step, d.At = WaitUntil, later(p.Wait)
	case Retryable:
		d.Step, d.At = RetryAt, later(p.backoff(j.Attempt))
		if j.Attempt >= p.MaxAttempts {
			d.Step, d.At, d.Category = Bury, time.Time{}, CategoryAttempts
		} else if d.At.Sub(j.AdmittedAt) > p.MaxAge {
			d.Step, d.At, d.Category = Bury, time.Time{}, CategoryAge
		}
	default: // Terminal, and what no executor should return
		d.Step = Bury
		if d.Category != CategoryBlocked {
			d.Category = CategoryInput
		}
	}
	return d
}

// backoff is the delay after the given attempt, from 1.
func (p Policy) backoff(attempt int) time.Duration {
	delay := p.RetryFirst
	for ; attempt > 1 && delay < p.RetryMax; attempt-- {
		delay *= 2
	}
	return min(delay, p.RetryMax)
}
