package riverqueue

import (
	"context"
	"time"

	"weedlc/sweep"
)

// Figures is part of sweep.Queue.
func (q *Queue) Figures(ctx context.Context, now time.Time, window time.Duration) (sweep.Figures, error) {
	var f sweep.Figures
	err := q.do(ctx, func(t tx) error {
		f = sweep.Figures{Now: now, Window: window}
		m := measure{ctx: ctx, t: t, f: &f, now: micros(now), since: micros(now.Add(-window))}
		for _, step := range []func() error{m.jobs, m.ages, m.admitted, m.chunks, m.letters, m.deletes, m.sweeps, m.findings} {
			if err := step(); err != nil {
				return err
			}
		}
		var err error
		f.Workers, err = liveWorkers(ctx, t)
		return err
	})
	return f, err
}

// measure fills the figures, a group at a time.
type measure struct {
	ctx        context.Context
	t          tx
	f          *sweep.Figures
	now, since int64
}

func (m measure) query(query string, args []any, each func(scanner) error) error {
	return m.t.query(m.ctx, query, args, each)
}

func (m measure) jobs() (err error) {
	m.f.Jobs, err = countJobs(m.ctx, m.t, m.f.Now)
	return err
}

func (m measure) ages() error {
	var ready, unfinished, dead int64
	_, err := row(m.ctx, m.t, `
		SELECT
			COALESCE((SELECT MIN(j.available_at) FROM weedlc_job j JOIN river_job r ON r.id = j.id
				WHERE j.state = 'open' AND r.state <> 'running' AND j.available_at <= $1), 0),
			COALESCE((SELECT MIN(admitted_at) FROM weedlc_job WHERE state = 'open'), 0),
			COALESCE((SELECT MIN(l.buried_at) FROM weedlc_dead_letter l JOIN weedlc_job j ON j.id = l.job_id
				WHERE j.state = 'dead'), 0)`,
		[]any{m.now}, &ready, &unfinished, &dead)
	m.f.OldestReady, m.f.OldestUnfinished, m.f.OldestDead = fromMicros(ready), fromMicros(unfinished), fromMicros(dead)
	return err
}

func (m measure) admitted() error {
	_, err := row(m.ctx, m.t, `SELECT COUNT(*) FROM weedlc_job WHERE admitted_at > $1 AND admitted_at <= $2`,
		[]any{m.since, m.now}, &m.f.Admitted)
	return err
}

func (m measure) chunks() error {
	m.f.Retries, m.f.Waits = map[sweep.Category]int{}, map[sweep.Category]int{}
	return m.query(`
		SELECT step, category, COUNT(*), SUM(executed), SUM(CASE WHEN executed = 1 THEN took ELSE 0 END)
		FROM weedlc_chunk WHERE at > $1 AND at <= $2 GROUP BY step, category`, []any{m.since, m.now},
		func(scan scanner) error {
			var (
				step        sweep.Step
				c           sweep.Category
				n, executed int
				took        int64
			)
			if err := scan(&step, &c, &n, &executed, &took); err != nil {
				return err
			}
			m.f.Chunks += executed
			m.f.WorkerTime += time.Duration(took) * time.Microsecond
			switch {
			case step == sweep.Acknowledge:
				m.f.Completed += n
			case step == sweep.RetryAt:
				m.f.Retries[c] += n
			case step == sweep.WaitUntil && c == sweep.CategoryShardHeld:
				m.f.LeaseWaits += n
			case step == sweep.WaitUntil:
				m.f.Waits[c] += n
			}
			return nil
		})
}

func (m measure) letters() error {
	_, err := row(m.ctx, m.t, `
		SELECT COALESCE(SUM(CASE WHEN kind = 'buried' THEN 1 ELSE 0 END), 0),
			COALESCE(SUM(CASE WHEN kind <> 'buried' THEN 1 ELSE 0 END), 0)
		FROM weedlc_history WHERE at > $1 AND at <= $2`, []any{m.since, m.now}, &m.f.Buried, &m.f.Closed)
	return err
}

func (m measure) deletes() error {
	m.f.Deletes = map[string]int64{}
	return m.query(`
		SELECT bucket, CAST(SUM(deletes) AS BIGINT) FROM weedlc_deletes WHERE at > $1 AND at <= $2 GROUP BY bucket`,
		[]any{m.since, m.now},
		func(scan scanner) error {
			var (
				bucket string
				n      int64
			)
			err := scan(&bucket, &n)
			m.f.Deletes[bucket] = n
			return err
		})
}

func (m measure) sweeps() error {
	return m.query(`
		SELECT sweep, MIN(admitted_at),
			SUM(CASE WHEN state = 'open' THEN 1 ELSE 0 END),
			SUM(CASE WHEN state = 'done' THEN 1 ELSE 0 END),
			SUM(CASE WHEN state = 'dead' THEN 1 ELSE 0 END)
		FROM weedlc_job
		WHERE sweep IN (SELECT sweep FROM weedlc_job WHERE state IN ('open', 'dead'))
			OR sweep = (SELECT sweep FROM weedlc_job ORDER BY admitted_at DESC, sweep DESC LIMIT 1)
		GROUP BY sweep ORDER BY 2, 1`, nil,
		func(scan scanner) error {
			var (
				r        sweep.SweepRecord
				admitted int64
			)
			err := scan(&r.Sweep, &admitted, &r.Unfinished, &r.Done, &r.Dead)
			r.AdmittedAt = fromMicros(admitted)
			m.f.Sweeps = append(m.f.Sweeps, r)
			return err
		})
}

func (m measure) findings() error {
	for i := range m.f.Sweeps {
		s := &m.f.Sweeps[i]
		if err := m.query(`
			SELECT bucket, rule_id, kind FROM weedlc_finding WHERE sweep = $1 ORDER BY bucket, rule_id, kind`, []any{s.Sweep},
			func(scan scanner) error {
				var f sweep.Finding
				err := scan(&f.Bucket, &f.RuleID, &f.Kind)
				s.Findings = append(s.Findings, f)
				return err
			}); err != nil {
			return err
		}
	}
	return nil
}
