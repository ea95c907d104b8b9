package riverqueue

import (
	"context"
	"time"

	"weedlc/sweep"
)

// States of weedlc_job: open, then one of sweep.JobState's that are final.
const stateOpen = "open"

const jobColumns = `j.id, j.sweep, j.shard, j.generation, j.policy, j.redrive_of, j.admitted_at, j.available_at,
	j.failures, j.leased, j.state`

// jobRow scans jobColumns.
type jobRow struct {
	job                 sweep.Job
	admitted, available int64
	failures, leased    int
	state               string
}

func (r *jobRow) dest() []any {
	j := &r.job
	return []any{
		&j.ID, &j.Sweep, &j.Shard, &j.Generation, &j.Policy, &j.RedriveOf, &r.admitted, &r.available,
		&r.failures, &r.leased, &r.state,
	}
}

func (r *jobRow) done() sweep.Job {
	r.job.AdmittedAt, r.job.AvailableAt = fromMicros(r.admitted), fromMicros(r.available)
	r.job.Attempt = r.failures + 1
	return r.job
}

func loadJob(ctx context.Context, t statements, id int64) (j sweep.Job, state string, leased bool, err error) {
	var r jobRow
	found, err := row(ctx, t, `SELECT `+jobColumns+` FROM weedlc_job j WHERE j.id = $1`, []any{id}, r.dest()...)
	if err == nil && !found {
		err = sweep.ErrNotFound
	}
	return r.done(), r.state, r.leased == 1, err
}

func closeJob(ctx context.Context, t statements, id int64, state sweep.JobState, now time.Time) error {
	_, err := t.exec(ctx, `UPDATE weedlc_job SET state = $1, closed_at = $2 WHERE id = $3`,
		string(state), micros(now), id)
	return err
}

// standing is where a job stands, from our state and River's.
func standing(state, river, why string, available, now time.Time) sweep.JobState {
	switch {
	case state != stateOpen:
		return sweep.JobState(state)
	case river == "running":
		return sweep.JobRunning
	case !available.After(now):
		return sweep.JobReady
	case why == string(sweep.RetryAt):
		return sweep.JobRetrying
	}
	return sweep.JobWaiting
}

// Jobs is part of sweep.Queue.
func (q *Queue) Jobs(ctx context.Context, sweepID string, now time.Time) ([]sweep.JobRecord, error) {
	var list []sweep.JobRecord
	err := q.do(ctx, func(t tx) error {
		list = nil
		err := t.query(ctx, `
			SELECT `+jobColumns+`, j.why, j.last_seen_at, j.closed_at, COALESCE(CAST(r.state AS TEXT), '')
			FROM weedlc_job j LEFT JOIN river_job r ON r.id = j.id
			WHERE j.sweep = $1 ORDER BY j.shard, j.generation`, []any{sweepID},
			func(scan scanner) error {
				var (
					r            jobRow
					why, river   string
					seen, closed int64
				)
				if err := scan(append(r.dest(), &why, &seen, &closed, &river)...); err != nil {
					return err
				}
				j := r.done()
				list = append(list, sweep.JobRecord{
					Job: j, State: standing(r.state, river, why, j.AvailableAt, now),
					LastSeen: fromMicros(seen), ClosedAt: fromMicros(closed),
				})
				return nil
			})
		if err == nil && len(list) == 0 {
			err = notFound("sweep %q", sweepID)
		}
		return err
	})
	return list, err
}

// Unfinished is part of sweep.Queue.
func (q *Queue) Unfinished(ctx context.Context, now time.Time) (sweep.Unfinished, error) {
	var u sweep.Unfinished
	err := q.do(ctx, func(t tx) error {
		counts, err := countJobs(ctx, t, now)
		u = sweep.Unfinished{
			Ready: counts[sweep.JobReady], Running: counts[sweep.JobRunning],
			Waiting: counts[sweep.JobWaiting], Retrying: counts[sweep.JobRetrying],
		}
		return err
	})
	return u, err
}

// countJobs counts by state, the jobs whose River row is pruned left out.
func countJobs(ctx context.Context, t statements, now time.Time) (map[sweep.JobState]int, error) {
	counts := map[sweep.JobState]int{}
	err := t.query(ctx, `
		SELECT j.state, CAST(r.state AS TEXT), j.why, CASE WHEN j.available_at <= $1 THEN 1 ELSE 0 END, COUNT(*)
		FROM weedlc_job j JOIN river_job r ON r.id = j.id
		GROUP BY 1, 2, 3, 4`, []any{micros(now)},
		func(scan scanner) error {
			var (
				state, river, why string
				available, n      int
			)
			if err := scan(&state, &river, &why, &available, &n); err != nil {
				return err
			}
			at := now
			if available == 0 {
				at = now.Add(1)
			}
			counts[standing(state, river, why, at, now)] += n
			return nil
		})
	return counts, err
}
