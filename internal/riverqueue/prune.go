package riverqueue

import (
	"context"
	"time"

	"weedlc/sweep"
)

// Prune is part of sweep.Queue.
func (q *Queue) Prune(ctx context.Context, before time.Time) (sweep.Pruned, error) {
	var p sweep.Pruned
	// The history of a letter that is open stays, and weedlc_job stays whole: it
	// holds the keys.
	const closed = `(SELECT id FROM weedlc_job WHERE state NOT IN ('open', 'dead') AND closed_at < $1)`
	err := q.do(ctx, func(t tx) error {
		for _, step := range []struct {
			removed *int64
			query   string
		}{
			{&p.Jobs, `DELETE FROM river_job WHERE id IN ` + closed},
			{&p.Events, `DELETE FROM weedlc_history WHERE at < $1 AND job_id IN ` + closed},
			{&p.DeadLetters, `DELETE FROM weedlc_dead_letter WHERE job_id IN ` + closed},
			{&p.Chunks, `DELETE FROM weedlc_chunk WHERE at < $1`},
			{new(int64), `DELETE FROM weedlc_deletes WHERE at < $1`},
			{new(int64), `DELETE FROM weedlc_finding WHERE at < $1`},
		} {
			n, err := t.exec(ctx, step.query, micros(before))
			if err != nil {
				return err
			}
			*step.removed = n
		}
		return nil
	})
	return p, err
}
