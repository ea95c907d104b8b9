package riverqueue

import (
	"context"
	"fmt"
	"time"

	"weedlc/sweep"
)

func notFound(format string, args ...any) error {
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), sweep.ErrNotFound)
}

// bury makes a dead letter of a job that is not finished in River, and
// finishes it there. River's row that is no longer in one of the states, or is
// delivered anew, makes it do nothing.
func bury(ctx context.Context, t statements, j sweep.Job, dec sweep.Decision, host string, now time.Time) (bool, error) {
	n, err := t.exec(ctx, `
		UPDATE river_job SET state = 'discarded', finalized_at = CURRENT_TIMESTAMP
		WHERE id = $1 AND finalized_at IS NULL`, j.ID)
	if err != nil || n == 0 {
		return false, err
	}
	attempts := j.Attempt - 1
	if dec.Executed {
		attempts++
	}
	if _, err := t.exec(ctx, `
		INSERT INTO weedlc_dead_letter (job_id, category, bucket, object_key, version_id, attempts, buried_at, closed_by)
		VALUES ($1, $2, $3, $4, $5, $6, $7, 0)`,
		j.ID, string(dec.Category), dec.Blocker.Bucket, dec.Blocker.Key, dec.Blocker.VersionID, attempts, micros(now)); err != nil {
		return false, err
	}
	if _, err := t.exec(ctx, `UPDATE weedlc_job SET state = 'dead', leased = 0, failures = $1 WHERE id = $2`,
		attempts, j.ID); err != nil {
		return false, err
	}
	return true, recordEvent(ctx, t, sweep.EventBuried, j.ID, 0, dec.Category, event{host: host, at: now})
}

// Expire is part of sweep.Queue.
func (q *Queue) Expire(ctx context.Context, admittedBefore, now time.Time) ([]int64, error) {
	var buried []int64
	err := q.do(ctx, func(t tx) error {
		buried = nil
		var old []sweep.Job
		if err := t.query(ctx, `
			SELECT `+jobColumns+` FROM weedlc_job j JOIN river_job r ON r.id = j.id
			WHERE j.state = 'open' AND j.admitted_at < $1 AND r.state <> 'running' ORDER BY j.id`,
			[]any{micros(admittedBefore)}, func(scan scanner) error {
				var r jobRow
				if err := scan(r.dest()...); err != nil {
					return err
				}
				old = append(old, r.done())
				return nil
			}); err != nil {
			return err
		}
		for _, j := range old {
			// A row that was leased meanwhile is left to its worker.
			free, err := t.exec(ctx, `UPDATE river_job SET priority = priority WHERE id = $1 AND state <> 'running'`, j.ID)
			if err != nil {
				return err
			}
			if free == 0 {
				continue
			}
			done, err := bury(ctx, t, j, sweep.Decision{Category: sweep.CategoryAge}, "", now)
			if err != nil {
				return err
			}
			if done {
				buried = append(buried, j.ID)
			}
		}
		return nil
	})
	return buried, err
}

const letterQuery = `
	SELECT l.job_id, j.sweep, j.shard, j.generation, j.policy, l.category, l.bucket, l.object_key, l.version_id,
		j.admitted_at, j.last_seen_at, l.buried_at, l.attempts, j.redrive_of, j.state, j.closed_at, l.closed_by
	FROM weedlc_dead_letter l JOIN weedlc_job j ON j.id = l.job_id `

func scanLetter(scan scanner) (sweep.DeadLetter, error) {
	var (
		l                           sweep.DeadLetter
		first, last, buried, closed int64
	)
	err := scan(&l.JobID, &l.Sweep, &l.Shard, &l.Generation, &l.Policy, &l.Category,
		&l.Blocker.Bucket, &l.Blocker.Key, &l.Blocker.VersionID,
		&first, &last, &buried, &l.Attempts, &l.RedriveOf, &l.State, &closed, &l.ClosedBy)
	l.FirstSeen, l.LastSeen, l.BuriedAt, l.ClosedAt = fromMicros(first), fromMicros(last), fromMicros(buried), fromMicros(closed)
	if l.LastSeen.IsZero() {
		l.LastSeen = l.BuriedAt
	}
	return l, err
}

// DeadLetters is part of sweep.Queue.
func (q *Queue) DeadLetters(ctx context.Context, f sweep.LetterFilter) ([]sweep.DeadLetter, error) {
	shard := -1
	if f.Shard != nil {
		shard = *f.Shard
	}
	closed := 0
	if f.Closed {
		closed = 1
	}
	var list []sweep.DeadLetter
	err := q.do(ctx, func(t tx) error {
		list = nil
		return t.query(ctx, letterQuery+`
			WHERE ($1 = 1 OR j.state = 'dead') AND ($2 = '' OR j.sweep = $2) AND ($3 = -1 OR j.shard = $3)
			ORDER BY l.buried_at, l.job_id`, []any{closed, f.Sweep, shard},
			func(scan scanner) error {
				l, err := scanLetter(scan)
				list = append(list, l)
				return err
			})
	})
	return list, err
}

// DeadLetter is part of sweep.Queue.
func (q *Queue) DeadLetter(ctx context.Context, jobID int64) (sweep.DeadLetter, error) {
	var l sweep.DeadLetter
	err := q.do(ctx, func(t tx) (err error) {
		l, err = loadLetter(ctx, t, jobID)
		return err
	})
	return l, err
}

func loadLetter(ctx context.Context, t statements, jobID int64) (l sweep.DeadLetter, err error) {
	found := false
	err = t.query(ctx, letterQuery+`WHERE l.job_id = $1`, []any{jobID}, func(scan scanner) (err error) {
		found = true
		l, err = scanLetter(scan)
		return err
	})
	if err == nil && !found {
		err = notFound("dead letter %d", jobID)
	}
	return l, err
}

// Redrive is part of sweep.Queue.
func (q *Queue) Redrive(ctx context.Context, jobID int64, act sweep.Act) (sweep.Job, error) {
	var j sweep.Job
	err := q.do(ctx, func(t tx) error {
		l, err := openLetter(ctx, t, jobID)
		if err != nil {
			return err
		}
		j = sweep.Job{Key: l.Key, Policy: l.Policy, RedriveOf: jobID, AdmittedAt: act.At, AvailableAt: act.At}
		if _, err := row(ctx, t, `SELECT MAX(generation) + 1 FROM weedlc_job WHERE sweep = $1 AND shard = $2`,
			[]any{l.Sweep, l.Shard}, &j.Generation); err != nil {
			return err
		}
		if _, err := insertJob(ctx, t, &j); err != nil {
			return err
		}
		return closeLetter(ctx, t, jobID, sweep.JobRedriven, j.ID, event{act.Reason, act.User, act.Host, act.At})
	})
	if err != nil {
		return sweep.Job{}, err
	}
	return j, nil
}

// Discard is part of sweep.Queue.
func (q *Queue) Discard(ctx context.Context, jobID int64, act sweep.Act) error {
	return q.do(ctx, func(t tx) error {
		if _, err := openLetter(ctx, t, jobID); err != nil {
			return err
		}
		return closeLetter(ctx, t, jobID, sweep.JobDiscarded, 0, event{act.Reason, act.User, act.Host, act.At})
	})
}

// openLetter loads an open letter and locks it until the end of the
// transaction, so that of two decisions the second sees the first.
func openLetter(ctx context.Context, t statements, jobID int64) (sweep.DeadLetter, error) {
	if _, err := t.exec(ctx, `UPDATE weedlc_job SET why = why WHERE id = $1`, jobID); err != nil {
		return sweep.DeadLetter{}, err
	}
	l, err := loadLetter(ctx, t, jobID)
	if err == nil && l.State != sweep.JobDead {
		err = &sweep.ClosedError{Letter: l}
	}
	return l, err
}

func closeLetter(ctx context.Context, t statements, jobID int64, state sweep.JobState, other int64, e event) error {
	if err := closeJob(ctx, t, jobID, state, e.at); err != nil {
		return err
	}
	if _, err := t.exec(ctx, `UPDATE weedlc_dead_letter SET closed_by = $1 WHERE job_id = $2`, other, jobID); err != nil {
		return err
	}
	return recordEvent(ctx, t, sweep.EventKind(state), jobID, other, "", e)
}

// event is who did what is recorded, why and when.
type event struct {
	reason, user, host string
	at                 time.Time
}

func recordEvent(ctx context.Context, t statements, kind sweep.EventKind, job, other int64, c sweep.Category, e event) error {
	_, err := t.exec(ctx, `
		INSERT INTO weedlc_history (at, kind, job_id, other, category, reason, os_user, host)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		micros(e.at), string(kind), job, other, string(c), e.reason, e.user, e.host)
	return err
}

// History is part of sweep.Queue.
func (q *Queue) History(ctx context.Context, f sweep.HistoryFilter) ([]sweep.Event, error) {
	var list []sweep.Event
	err := q.do(ctx, func(t tx) error {
		list = nil
		return t.query(ctx, `
			SELECT h.at, h.kind, h.job_id, j.sweep, j.shard, j.generation, h.other, h.category, h.reason, h.os_user, h.host
			FROM weedlc_history h JOIN weedlc_job j ON j.id = h.job_id
			WHERE ($1 = 0 OR h.job_id = $1 OR h.other = $1) AND ($2 = '' OR j.sweep = $2) AND h.at >= $3
			ORDER BY h.seq`, []any{f.JobID, f.Sweep, micros(f.Since)},
			func(scan scanner) error {
				var (
					e  sweep.Event
					at int64
				)
				err := scan(&at, &e.Kind, &e.JobID, &e.Sweep, &e.Shard, &e.Generation,
					&e.Other, &e.Category, &e.Reason, &e.User, &e.Host)
				e.At = fromMicros(at)
				list = append(list, e)
				return err
			})
	})
	return list, err
}
