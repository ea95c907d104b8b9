// Package sweep schedules, admits, executes and recovers lifecycle passes over
// a durable queue.
//
// # Model
//
// A schedule says when: a sweep is one slot of it, "cleanup:2026-08-21T02:00Z",
// the floor of now to the interval, so a late or doubled tick names the same
// sweep. Admission makes one job of each (sweep, shard), once for ever. Workers
// lease jobs and run each shard's pass in bounded chunks, through an Executor
// that the caller injects. What an execution came to is an Outcome; Policy turns
// it into a Decision; the Queue records the decision and acknowledges in one
// transaction. A job that cannot be done becomes a DeadLetter, which no worker
// touches: a person redrives it under a new id or discards it, with a reason.
//
// # Invariants
//
//   - Admitting the same (sweep, shard) again, from anywhere, at any time, makes
//     no second job; pruning keeps the keys.
//   - A lease can end before the acknowledgement. The work is then done again, so
//     an Executor is safe to repeat; the late acknowledgement changes nothing.
//   - A job is never executed before the time recorded for it.
//   - A dead letter consumes nothing until a person decides.
//   - A shard is worked by one worker at a time, whatever the sweep.
//
// # The shared limit
//
// R deletes a second are divided among the live workers. Each worker's share
// stands in its heartbeat row, and a heartbeat is one serialized transaction: a
// worker takes the smaller of R/n and what the other live rows leave of R. The
// sum of the rows is therefore never above R. A limiter follows its row as soon
// as the heartbeat returns. A new worker finds nothing left, and leases nothing
// until the others have had a heartbeat to shrink. A worker that cannot reach
// the queue stops deleting two heartbeats after the last one that succeeded, one
// before its row expires and the others divide its share. Limiters have no burst.
//
// The package knows no database and no SeaweedFS: the Queue and the Executor
// are handed in. Package sweep/queuetest holds what every Queue must do.
package sweep
