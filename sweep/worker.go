package sweep

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"
)

// Options steer a Worker.
type Options struct {
	// Worker names this process among all; Host and PID are for people.
	Worker string
	Host   string
	PID    int
	// Jobs are worked at a time; from 1.
	Jobs int
	// Serve goes on when nothing is left; without it the worker ends when nothing
	// is ready, leased or waiting.
	Serve bool
	// Runtime ends the worker; 0 is no limit.
	Runtime time.Duration
	// Chunk is how long one execution may take; see LeaseDuration.
	Chunk  time.Duration
	Policy Policy
	// Limit is R, the deletes a second of all workers together; 0 is no limit.
	// Every worker is given the same.
	Limit float64
	// Heartbeat is the interval of heartbeats; 0 is DefaultHeartbeat.
	Heartbeat time.Duration
	// StopWithin bounds how long an ending worker waits for its chunks.
	StopWithin time.Duration

	// Clock is the wall clock; Jitter returns a number in [0, 1).
	Clock  func() time.Time
	Jitter func() float64
	Log    *slog.Logger
	// Observe is told of every decision that was recorded, from several
	// goroutines; nil is nobody.
	Observe func(Job, Decision)
}

// DefaultHeartbeat is the interval of heartbeats.
const DefaultHeartbeat = 5 * time.Second

// Report is what a worker did.
type Report struct {
	// Steps counts decisions that were recorded, Lost those that came too late.
	Steps map[Step]int
	Lost  int
	// Deletes by bucket.
	Deletes map[string]int64
	// Dead are the dead letters that this worker made.
	Dead []DeadLetter
	// Left are the jobs that were unfinished in the end.
	Left Unfinished
	// Interrupted is set when the caller's context ended, CutShort when Runtime
	// did.
	Interrupted, CutShort bool
}

// Worker leases jobs and executes them.
type Worker struct {
	queue   Queue
	execute Executor
	o       Options
	share   *share

	mu     sync.Mutex
	report Report
	buried []int64
	// ended: what a chunk that outlives Lease still settles is told to nobody.
	ended bool
}

// NewWorker returns a worker, for one Run.
func NewWorker(q Queue, execute Executor, o Options) *Worker {
	if o.Heartbeat == 0 {
		o.Heartbeat = DefaultHeartbeat
	}
	return &Worker{
		queue: q, execute: execute, o: o, share: newShare(o.Limit),
		report: Report{Steps: map[Step]int{}, Deletes: map[string]int64{}},
	}
}

var errRuntime = errors.New("runtime is over")

// Run works until nothing is left, Runtime is over or ctx ends. The report is
// complete as far as it goes when it also returns an error.
func (w *Worker) Run(ctx context.Context) (Report, error) {
	if w.o.Jobs < 1 || w.o.Chunk <= 0 || w.o.Policy.MaxAttempts < 1 {
		return Report{}, errors.New("a worker needs jobs, a chunk and attempts of 1 or more")
	}
	run, end := context.WithCancelCause(ctx)
	defer end(nil)
	if w.o.Runtime > 0 {
		defer time.AfterFunc(w.o.Runtime, func() { end(errRuntime) }).Stop()
	}
	err := w.work(run)
	w.mu.Lock()
	w.ended = true
	w.mu.Unlock()
	w.report.Interrupted = ctx.Err() != nil
	w.report.CutShort = !w.report.Interrupted && errors.Is(context.Cause(run), errRuntime)
	return w.report, errors.Join(err, w.finish(ctx))
}

// work beats until the worker has a share, then leases beside the heartbeats
// until nothing is left or ctx ends.
func (w *Worker) work(ctx context.Context) error {
	leasing, stop := context.WithCancel(ctx)
	defer stop()
	var leases sync.WaitGroup
	defer leases.Wait()
	ended := make(chan error, 1)
	started := false
	for tick := time.Duration(0); ; {
		select {
		case err := <-ended:
			return err
		case <-ctx.Done():
			if !started {
				return nil
			}
			return <-ended
		case <-time.After(tick):
		}
		tick = min(w.o.Heartbeat/4, 500*time.Millisecond)
		w.beat(ctx)
		if !started && w.share.granted() {
			started = true
			leases.Go(func() { ended <- w.lease(leasing) })
		}
		if w.drained(ctx) {
			stop()
			if !started {
				return nil
			}
			return <-ended
		}
	}
}

// drained says whether a worker that does not serve has nothing left to do.
// When the queue cannot be asked, it goes on.
func (w *Worker) drained(ctx context.Context) bool {
	if w.o.Serve {
		return false
	}
	left, err := w.queue.Unfinished(ctx, w.o.Clock())
	return err == nil && left.Total() == 0
}

// beat sends a heartbeat when one is due, and buries what is too old.
func (w *Worker) beat(ctx context.Context) {
	if !w.share.due(w.o.Heartbeat) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, w.o.Heartbeat)
	defer cancel()
	asked := time.Now()
	granted, err := w.queue.Beat(ctx, Beat{
		Worker: w.o.Worker, Host: w.o.Host, PID: w.o.PID, Jobs: w.o.Jobs, Limit: w.o.Limit, Every: w.o.Heartbeat,
	})
	if err != nil {
		if ctx.Err() == nil {
			w.o.Log.Warn("heartbeat failed", "worker", w.o.Worker, "error", err)
		}
		return
	}
	w.share.grant(granted, asked, 2*w.o.Heartbeat)
	now := w.o.Clock()
	expired, err := w.queue.Expire(ctx, now.Add(-w.o.Policy.MaxAge), now)
	if err != nil && ctx.Err() == nil {
		w.o.Log.Warn("jobs that are too old could not be looked for", "error", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.buried = append(w.buried, expired...)
	w.report.Steps[Bury] += len(expired)
}

func (w *Worker) lease(ctx context.Context) error {
	return w.queue.Lease(ctx, LeaseOptions{
		Worker: w.o.Worker, Jobs: w.o.Jobs,
		Duration: LeaseDuration(w.o.Chunk), StopWithin: w.o.StopWithin,
		Settled: w.settled,
	}, w.handle)
}

// handle executes one chunk of a leased job.
func (w *Worker) handle(ctx context.Context, j Job) Decision {
	if d, spent := w.o.Policy.Exhausted(j, w.o.Clock()); spent {
		return d
	}
	ctx, cancel, ok := w.share.hold(ctx)
	defer cancel()
	if !ok {
		return Decision{Step: Again}
	}
	until := w.o.Clock().Add(w.o.Chunk)
	out := w.execute(ctx, Chunk{Job: j, Until: until, Limiter: w.share.limiter})
	stopped := ctx.Err() != nil && !errors.Is(context.Cause(ctx), context.DeadlineExceeded)
	if stopped && (out.Result == Retryable || out.Result == Waiting) {
		// The worker ended the chunk, and what the executor made of that is no
		// failure of the job.
		out.Result = Cut
	}
	return w.o.Policy.Decide(j, out, w.o.Clock(), w.o.Jitter())
}

func (w *Worker) settled(j Job, d Decision, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return
	}
	if err != nil {
		w.report.Lost++
		w.o.Log.Warn("a decision was not recorded",
			"job", j.ID, "sweep", j.Sweep, "shard", j.Shard, "step", string(d.Step), "error", err)
		return
	}
	w.report.Steps[d.Step]++
	for bucket, n := range d.Deletes {
		w.report.Deletes[bucket] += n
	}
	if d.Step == Bury {
		w.buried = append(w.buried, j.ID)
	}
	if w.o.Observe != nil {
		w.o.Observe(j, d)
	}
}

// finish concludes the report, also after ctx has ended. A queue that is away
// for a moment is asked again.
func (w *Worker) finish(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishWithin)
	defer cancel()
	for {
		err := w.conclude(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(finishPause):
		}
	}
}

// conclude leaves the heartbeat table and completes the report.
func (w *Worker) conclude(ctx context.Context) error {
	if err := w.queue.Leave(ctx, w.o.Worker); err != nil {
		return err
	}
	w.report.Dead = nil
	for _, id := range w.buried {
		letter, err := w.queue.DeadLetter(ctx, id)
		if err != nil {
			return err
		}
		w.report.Dead = append(w.report.Dead, letter)
	}
	var err error
	w.report.Left, err = w.queue.Unfinished(ctx, w.o.Clock())
	return err
}

// finishWithin bounds the last calls to the queue, finishPause is between two
// tries.
const (
	finishWithin = 10 * time.Second
	finishPause  = 500 * time.Millisecond
)
