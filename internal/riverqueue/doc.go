// Package riverqueue keeps sweeps in a River queue: an embedded SQLite file
// for one host, PostgreSQL for many. It implements sweep.Queue.
//
// River delivers: its rows say which job may be fetched and when. What sweeps
// promise is kept in tables of our own beside River's, written in one
// transaction with the change of River's row wherever a promise depends on both:
//
//   - weedlc_job has one row for each job ever admitted. Its primary key (sweep,
//     shard, generation) is what makes admission idempotent; it is never pruned.
//     It counts failed attempts: River's own counter only numbers deliveries.
//   - weedlc_shard has the lock of each shard, with an expiry and a token that
//     every lease raises. A decision is recorded only under the token of its
//     lease and while River's row is still running in the same delivery.
//   - weedlc_dead_letter and weedlc_history are for people, weedlc_chunk,
//     weedlc_deletes and weedlc_finding for status, weedlc_worker has the
//     heartbeats, weedlc_turn serializes what must not run twice at once.
//
// # What River does and does not
//
// Acknowledged and buried jobs are finished inside our transaction, so River's
// own completion afterwards finds nothing to do. Jobs that come again are
// snoozed: River moves the row shortly after our transaction, and a worker that
// dies in between leaves a row that is rescued as any other. The time before
// which a job is not executed stands in weedlc_job and is looked at by every
// lease, however the row came back.
//
// River's completion is not fenced: whatever a worker returns is applied to a
// row that is running, even in another worker's delivery. So a worker whose
// lease was lost keeps its delivery until the other one has ended.
//
// A worker that died is noticed by River's rescuer: the lease, up to 15 s until
// another leader is elected, up to 30 s until it looks.
//
// Times of our tables are Unix microseconds. Leases and heartbeats use the
// clock of PostgreSQL, which all workers share; with SQLite there is one host.
package riverqueue
