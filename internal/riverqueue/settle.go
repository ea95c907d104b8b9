package riverqueue

import (
	"context"
	"errors"
	"time"

	"github.com/riverqueue/river"

	"weedlc/sweep"
)

// settle records a decision under its lease, waiting out an outage of the
// database for as long as the lease lasts. It returns what to tell River, also
// with an error.
func (d *delivery) settle(ctx context.Context, rj *riverJob, held lease, dec sweep.Decision) (again, err error) {
	took := time.Since(held.began)
	for {
		err = d.q.do(ctx, func(t tx) error { return d.record(ctx, t, rj, held, dec, took) })
		if err == nil || errors.Is(err, sweep.ErrLeaseLost) || time.Since(held.began)+dbPause > d.o.Duration {
			break
		}
		time.Sleep(dbPause)
	}
	switch {
	case err != nil || dec.Step == sweep.Again:
		return river.JobSnooze(0), err
	case dec.Step == sweep.WaitUntil || dec.Step == sweep.RetryAt:
		return river.JobSnooze(max(0, dec.At.Sub(d.q.clock()))), nil
	}
	return nil, nil
}

// record is the transaction of settle.
func (d *delivery) record(ctx context.Context, t tx, rj *riverJob, held lease, dec sweep.Decision, took time.Duration) error {
	n, err := t.exec(ctx, `UPDATE weedlc_shard SET job_id = 0, until_at = 0 WHERE shard = $1 AND token = $2 AND job_id = $3`,
		held.job.Shard, held.token, held.job.ID)
	if err != nil {
		return err
	}
	// The row is changed to lock it until the commit: a rescue waits, and finds
	// it settled.
	m, err := t.exec(ctx, `UPDATE river_job SET priority = priority WHERE id = $1 AND state = 'running' AND attempt = $2`,
		rj.ID, rj.Attempt)
	if err != nil {
		return err
	}
	if n == 0 || m == 0 {
		return sweep.ErrLeaseLost
	}
	now := d.q.clock()
	failures, available, why := held.job.Attempt-1, now, ""
	switch dec.Step {
	case sweep.RetryAt, sweep.WaitUntil:
		available, why = dec.At, string(dec.Step)
	}
	if dec.Step == sweep.RetryAt || dec.Step == sweep.Bury && dec.Executed {
		failures++
	}
	lastSeen := int64(0)
	if dec.Executed {
		lastSeen = micros(now)
	}
	if _, err := t.exec(ctx, `
		UPDATE weedlc_job SET leased = 0, failures = $1, available_at = $2, why = $3,
			last_seen_at = COALESCE(NULLIF(CAST($4 AS BIGINT), 0), last_seen_at)
		WHERE id = $5`, failures, micros(available), why, lastSeen, held.job.ID); err != nil {
		return err
	}
	if err := recordChunk(ctx, t, chunk{
		at: now, job: held.job.ID, worker: d.o.Worker, step: dec.Step, category: dec.Category,
		executed: dec.Executed, took: took,
	}); err != nil {
		return err
	}
	if err := recordYield(ctx, t, held.job.Sweep, dec, now); err != nil {
		return err
	}
	switch dec.Step {
	case sweep.Acknowledge:
		return d.acknowledge(ctx, t, rj, held.job, now)
	case sweep.Bury:
		_, err := bury(ctx, t, held.job, dec, d.o.Worker, now)
		return err
	}
	return nil
}

// acknowledge finishes a job and closes the open dead letters that its
// shard's earlier jobs left.
func (d *delivery) acknowledge(ctx context.Context, t tx, rj *riverJob, j sweep.Job, now time.Time) error {
	if err := closeJob(ctx, t, j.ID, sweep.JobDone, now); err != nil {
		return err
	}
	var superseded []int64
	if err := t.query(ctx, `SELECT id FROM weedlc_job WHERE state = 'dead' AND shard = $1 AND id < $2 ORDER BY id`,
		[]any{j.Shard, j.ID}, func(scan scanner) error {
			var id int64
			superseded = append(superseded, 0)
			err := scan(&id)
			superseded[len(superseded)-1] = id
			return err
		}); err != nil {
		return err
	}
	for _, id := range superseded {
		if err := closeLetter(ctx, t, id, sweep.JobSuperseded, j.ID, event{host: d.o.Worker, at: now}); err != nil {
			return err
		}
	}
	return t.complete(ctx, rj)
}

// chunk is one line of what workers did.
type chunk struct {
	at       time.Time
	job      int64
	worker   string
	step     sweep.Step
	category sweep.Category
	executed bool
	took     time.Duration
}

func recordChunk(ctx context.Context, t statements, c chunk) error {
	executed := 0
	if c.executed {
		executed = 1
	}
	_, err := t.exec(ctx, `
		INSERT INTO weedlc_chunk (at, job_id, worker, step, category, executed, took)
		VALUES ($1, $2, $3, $4, $5, $6, $7)`,
		micros(c.at), c.job, c.worker, string(c.step), string(c.category), executed, c.took.Microseconds())
	return err
}

// recordYield keeps what a chunk deleted and found.
func recordYield(ctx context.Context, t statements, sweepID string, dec sweep.Decision, now time.Time) error {
	for bucket, n := range dec.Deletes {
		if _, err := t.exec(ctx, `INSERT INTO weedlc_deletes (at, bucket, deletes) VALUES ($1, $2, $3)`,
			micros(now), bucket, n); err != nil {
			return err
		}
	}
	for _, f := range dec.Findings {
		if _, err := t.exec(ctx, `
			INSERT INTO weedlc_finding (sweep, bucket, rule_id, kind, at) VALUES ($1, $2, $3, $4, $5)
			ON CONFLICT DO NOTHING`, sweepID, f.Bucket, f.RuleID, f.Kind, micros(now)); err != nil {
			return err
		}
	}
	return nil
}
