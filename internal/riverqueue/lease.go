package riverqueue

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"weedlc/sweep"
)

const (
	// pollInterval is how often a worker with a free place asks for a job.
	pollInterval = 200 * time.Millisecond
	// shardWait is the pause before a job whose shard is being worked for another
	// job is looked at again. River keeps a pause of up to 5 s without its leader.
	shardWait = 2 * time.Second
	// stopSlack is for handlers to end once their contexts have, at a stop.
	stopSlack = 10 * time.Second
	// dbPause is the pause after a transaction that failed.
	dbPause = time.Second
)

// leaser is one call of Lease.
type leaser struct {
	q       *Queue
	o       sweep.LeaseOptions
	handle  sweep.Handler
	stop    context.Context // the caller's: nothing new is leased once it is done
	settled func(sweep.Job, sweep.Decision, error)
	stuck   chan error
	// handling has the ids of jobs whose handler has not returned.
	handling sync.Map
}

// Lease is part of sweep.Queue.
func (q *Queue) Lease(ctx context.Context, o sweep.LeaseOptions, handle sweep.Handler) error {
	l := &leaser{q: q, o: o, handle: handle, stop: ctx, settled: o.Settled, stuck: make(chan error, 1)}
	if l.settled == nil {
		l.settled = func(sweep.Job, sweep.Decision, error) {}
	}
	return q.wrap(q.db.lease(ctx, l))
}

// lease runs a River client until ctx ends.
func (db *riverDB[T]) lease(ctx context.Context, l *leaser) error {
	// River's own context does not end with ctx: that would be a stop without
	// our bound.
	base := context.WithoutCancel(ctx)
	client, err := db.worker(l)
	if err != nil {
		return err
	}
	for {
		err := client.Start(base)
		if err == nil {
			break
		}
		db.log.Warn("leasing cannot begin", "error", err)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(dbPause):
		}
		if client, err = db.worker(l); err != nil {
			return err
		}
	}
	select {
	case <-ctx.Done():
	case err := <-l.stuck:
		return err
	}
	// A soft stop for StopWithin, then contexts end; a little more for those
	// that end now.
	base, cancel := context.WithTimeout(base, l.o.StopWithin+stopSlack)
	defer cancel()
	if err := client.Stop(base); err != nil && base.Err() == nil {
		return err
	}
	return nil
}

// worker is a client that leases. Every worker has this one configuration:
// River's leader applies its own to all.
func (db *riverDB[T]) worker(l *leaser) (*river.Client[T], error) {
	workers := river.NewWorkers()
	river.AddWorker(workers, river.Worker[jobArgs](&delivery{leaser: l}))
	return river.NewClient(db.driver, &river.Config{
		ID:      l.o.Worker,
		Logger:  db.log,
		Queues:  map[string]river.QueueConfig{queueName: {MaxWorkers: l.o.Jobs}},
		Workers: workers,

		// Half of the lease is the handler's, a sixth is for it to end, and the rest
		// for clocks that differ. Without a finite timeout River rescues nothing.
		JobTimeout:           l.o.Duration / 2,
		JobStuckThreshold:    l.o.Duration / 6,
		JobStuckHandler:      l.onStuck,
		RescueStuckJobsAfter: l.o.Duration,
		RetryPolicy:          rescueNow{},
		SoftStopTimeout:      l.o.StopWithin,

		PollOnly:          true,
		FetchPollInterval: pollInterval,
		FetchCooldown:     pollInterval / 4,

		// Nothing is deleted but by Prune.
		CancelledJobRetentionPeriod: -1,
		CompletedJobRetentionPeriod: -1,
		DiscardedJobRetentionPeriod: -1,
	})
}

// rescueNow makes a job of a dead worker ready at once: it has waited for the
// end of the lease.
type rescueNow struct{}

func (rescueNow) NextRetry(*rivertype.JobRow) time.Time { return time.Now() }

// onStuck ends Lease for a handler that ignores its context: it would still be
// working when another worker takes its job. A decision that waits for the
// database to come back is not stuck.
func (l *leaser) onStuck(_ context.Context, p river.JobStuckHandlerParams) river.JobStuckHandlerResult {
	if _, handling := l.handling.Load(p.ID); !handling {
		return river.JobStuckHandlerResult{}
	}
	select {
	case l.stuck <- fmt.Errorf("job %d does not end and its lease does", p.ID):
	default:
	}
	return river.JobStuckHandlerResult{}
}

// delivery is River's worker.
type delivery struct {
	river.WorkerDefaults[jobArgs]
	*leaser
}

// lease is what a delivery holds of a job and its shard.
type lease struct {
	job   sweep.Job
	token int64
	began time.Time
}

// Work leases, executes and settles one delivery. What it returns tells River
// when the job is to be delivered again.
func (d *delivery) Work(ctx context.Context, rj *riverJob) error {
	if d.stop.Err() != nil {
		return river.JobSnooze(0)
	}
	held, refused, err := d.take(ctx, rj)
	if errors.Is(err, sweep.ErrNotFound) {
		return river.JobCancel(errors.New("the job was not admitted by weedlc"))
	}
	if err != nil {
		return river.JobSnooze(dbPause)
	}
	if refused != nil {
		return refused
	}
	work, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(d.stop, cancel)()
	d.handling.Store(rj.ID, nil)
	decision := d.handle(work, held.job)
	d.handling.Delete(rj.ID)

	settling := context.WithoutCancel(ctx)
	again, err := d.settle(settling, rj, held, decision)
	d.settled(held.job, decision, err)
	if err != nil {
		d.yield(settling, rj)
	}
	return again
}

// take leases the job and its shard, or says when the job is to be delivered
// again.
func (d *delivery) take(ctx context.Context, rj *riverJob) (held lease, refused, err error) {
	err = d.q.do(ctx, func(t tx) error {
		held, refused = lease{began: time.Now()}, nil
		j, state, leased, err := loadJob(ctx, t, rj.ID)
		if err != nil {
			return err
		}
		now := d.q.clock()
		switch {
		case state != stateOpen:
			refused = river.JobCancel(errors.New("the job is closed"))
			return nil
		case now.Before(j.AvailableAt):
			refused = river.JobSnooze(j.AvailableAt.Sub(now))
			return nil
		}
		held.token, err = d.lockShard(ctx, t, j)
		if err != nil {
			return err
		}
		if held.token == 0 {
			refused = river.JobSnooze(shardWait)
			return d.recordShardWait(ctx, t, j, now)
		}
		if leased {
			// The last lease was never settled: its worker died, which is an attempt.
			j.Attempt++
			if err := recordChunk(ctx, t, chunk{
				at: now, job: j.ID, worker: d.o.Worker, step: sweep.RetryAt, category: sweep.CategoryLost,
			}); err != nil {
				return err
			}
		}
		held.job = j
		_, err = t.exec(ctx, `UPDATE weedlc_job SET leased = 1, failures = $1 WHERE id = $2`, j.Attempt-1, j.ID)
		return err
	})
	return held, refused, err
}

// lockShard returns the token of the shard's lock, or 0 when another job has
// it. A delivery of the same job takes the lock over: River delivers a job
// again when its lease is over.
func (d *delivery) lockShard(ctx context.Context, t tx, j sweep.Job) (token int64, err error) {
	now, err := t.now(ctx)
	if err != nil {
		return 0, err
	}
	_, err = row(ctx, t, `
		INSERT INTO weedlc_shard (shard, token, job_id, worker, until_at) VALUES ($1, 1, $2, $3, $4)
		ON CONFLICT (shard) DO UPDATE
		SET token = weedlc_shard.token + 1, job_id = $2, worker = $3, until_at = $4
		WHERE weedlc_shard.job_id IN (0, $2) OR weedlc_shard.until_at < $5
		RETURNING token`,
		[]any{j.Shard, j.ID, d.o.Worker, micros(now.Add(d.o.Duration)), micros(now)}, &token)
	return token, err
}

func (d *delivery) recordShardWait(ctx context.Context, t tx, j sweep.Job, now time.Time) error {
	_, err := t.exec(ctx, `UPDATE weedlc_job SET available_at = $1, why = $2 WHERE id = $3`,
		micros(now.Add(shardWait)), string(sweep.WaitUntil), j.ID)
	if err != nil {
		return err
	}
	return recordChunk(ctx, t, chunk{
		at: now, job: j.ID, worker: d.o.Worker, step: sweep.WaitUntil, category: sweep.CategoryShardHeld,
	})
}

// yield keeps the delivery while another one of the job is running, at most
// for a lease: River applies whatever is returned to a row that is running.
func (d *delivery) yield(ctx context.Context, rj *riverJob) {
	for range int(d.o.Duration/dbPause) + 1 {
		running, attempt := false, 0
		err := d.q.do(ctx, func(t tx) (err error) {
			running, attempt, err = delivered(ctx, t, rj.ID)
			return err
		})
		if err == nil && (!running || attempt == rj.Attempt) {
			return
		}
		time.Sleep(dbPause)
	}
}

// delivered says whether River's row is running, and in which delivery.
func delivered(ctx context.Context, t statements, id int64) (running bool, attempt int, err error) {
	state := ""
	_, err = row(ctx, t, `SELECT CAST(state AS TEXT), attempt FROM river_job WHERE id = $1`, []any{id}, &state, &attempt)
	return state == "running", attempt, err
}
