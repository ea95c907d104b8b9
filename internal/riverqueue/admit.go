package riverqueue

import (
	"context"

	"weedlc/sweep"
)

// Admit is part of sweep.Queue.
func (q *Queue) Admit(ctx context.Context, a sweep.Admission) ([]sweep.Job, error) {
	var made []sweep.Job
	err := q.do(ctx, func(t tx) error {
		made = nil
		for _, shard := range a.Shards {
			j := sweep.Job{
				Key:    sweep.Key{Sweep: a.Sweep, Shard: shard},
				Policy: a.Policy, AdmittedAt: a.Now, AvailableAt: a.Now,
			}
			if isNew, err := insertJob(ctx, t, &j); err != nil {
				return err
			} else if isNew {
				made = append(made, j)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return made, nil
}

// insertJob adds a job and sets its id, unless there is one of its key. The
// key is taken first, so that of two hosts one waits for the other here.
func insertJob(ctx context.Context, t tx, j *sweep.Job) (isNew bool, err error) {
	n, err := t.exec(ctx, `
		INSERT INTO weedlc_job (sweep, shard, generation, policy, redrive_of, admitted_at, available_at,
			state, why, leased, failures, last_seen_at, closed_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, 'open', '', 0, 0, 0, 0)
		ON CONFLICT DO NOTHING`,
		j.Sweep, j.Shard, j.Generation, j.Policy, j.RedriveOf, micros(j.AdmittedAt), micros(j.AvailableAt))
	if err != nil || n == 0 {
		return false, err
	}
	j.ID, err = t.insert(ctx, jobArgs{
		Sweep: j.Sweep, Shard: j.Shard, Generation: j.Generation,
		Policy: j.Policy, RedriveOf: j.RedriveOf, AdmittedAt: micros(j.AdmittedAt),
	}, j.AvailableAt)
	if err != nil {
		return false, err
	}
	j.Attempt = 1
	_, err = t.exec(ctx, `UPDATE weedlc_job SET id = $1 WHERE sweep = $2 AND shard = $3 AND generation = $4`,
		j.ID, j.Sweep, j.Shard, j.Generation)
	return true, err
}
