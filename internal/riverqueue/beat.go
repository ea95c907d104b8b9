package riverqueue

import (
	"context"
	"math"

	"weedlc/sweep"
)

// beatsLive is for how many heartbeats a worker is live.
const beatsLive = 3

// Beat is part of sweep.Queue.
func (q *Queue) Beat(ctx context.Context, b sweep.Beat) (share float64, err error) {
	err = q.do(ctx, func(t tx) error {
		// One heartbeat at a time: the sum of the shares is read and written.
		if _, err := t.exec(ctx, `UPDATE weedlc_turn SET turn = turn + 1 WHERE name = 'beat'`); err != nil {
			return err
		}
		now, err := t.now(ctx)
		if err != nil {
			return err
		}
		if _, err := t.exec(ctx, `DELETE FROM weedlc_worker WHERE seen_at + $1 * every_us < $2`,
			beatsLive, micros(now)); err != nil {
			return err
		}
		var (
			others int
			used   float64
		)
		if _, err := row(ctx, t, `SELECT COUNT(*), COALESCE(SUM(share), 0) FROM weedlc_worker WHERE worker <> $1`,
			[]any{b.Worker}, &others, &used); err != nil {
			return err
		}
		share = math.Max(0, math.Min(b.Limit/float64(others+1), b.Limit-used))
		_, err = t.exec(ctx, `
			INSERT INTO weedlc_worker (worker, host, pid, jobs, rate_limit, share, every_us, seen_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
			ON CONFLICT (worker) DO UPDATE SET rate_limit = $5, share = $6, every_us = $7, seen_at = $8`,
			b.Worker, b.Host, b.PID, b.Jobs, b.Limit, share, b.Every.Microseconds(), micros(now))
		return err
	})
	return share, err
}

// Leave is part of sweep.Queue.
func (q *Queue) Leave(ctx context.Context, worker string) error {
	return q.do(ctx, func(t tx) error {
		_, err := t.exec(ctx, `DELETE FROM weedlc_worker WHERE worker = $1`, worker)
		return err
	})
}

func liveWorkers(ctx context.Context, t tx) ([]sweep.WorkerRecord, error) {
	now, err := t.now(ctx)
	if err != nil {
		return nil, err
	}
	var list []sweep.WorkerRecord
	err = t.query(ctx, `
		SELECT worker, host, pid, jobs, rate_limit, share, seen_at FROM weedlc_worker
		WHERE seen_at + $1 * every_us >= $2 ORDER BY worker`, []any{beatsLive, micros(now)},
		func(scan scanner) error {
			var (
				w    sweep.WorkerRecord
				seen int64
			)
			err := scan(&w.Worker, &w.Host, &w.PID, &w.Jobs, &w.Limit, &w.Share, &seen)
			w.SeenAt = fromMicros(seen)
			list = append(list, w)
			return err
		})
	return list, err
}
