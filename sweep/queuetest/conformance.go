// Package queuetest holds what every implementation of sweep.Queue must do, as
// a test suite. Its clock is a test's own where a promise is about recorded
// times; where the queue's timers are real, times are short.
package queuetest

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"weedlc/sweep"
)

// Backend is one empty queue that nothing else uses.
type Backend struct {
	// Open opens one more handle on the queue, as another host would. It is closed
	// with the test.
	Open func(t testing.TB, clock func() time.Time) sweep.Queue
	// LoseLease ends the lease of a running job as time would.
	LoseLease func(t testing.TB, jobID int64)
}

// Conformance checks an implementation. New is called once a subtest.
func Conformance(t *testing.T, newBackend func(t testing.TB) Backend) {
	for _, tc := range []struct {
		name string
		test func(*testing.T, *rig)
	}{
		{"admit", testAdmit},
		{"enqueued twice by many at once", testAdmitAtOnce},
		{"pruning keeps the keys", testPruneKeepsKeys},
		{"prune removes what is closed and old", testPrune},
		{"worked example", testWorkedExample},
		{"no retry before its time", testRetryTime},
		{"delivered before its time", testDeliveredEarly},
		{"lease lost just before the acknowledgement", testLeaseLost},
		{"a dead worker's lease is an attempt", testLostAttempts},
		{"exhausted jobs consume nothing", testExhausted},
		{"attempt budget", testAttemptBudget},
		{"age budget", testAgeBudget},
		{"terminal", testTerminal},
		{"redrive and discard", testDecisions},
		{"a decision of two at once", testDecisionsAtOnce},
		{"superseded", testSuperseded},
		{"one worker at a shard", testOneAtAShard},
		{"a stuck shard delays no other", testStuckShard},
		{"cut is no attempt", testCut},
		{"waiting is no attempt", testWaiting},
		{"graceful stop", testStop},
		{"runtime", testRuntime},
		{"shares", testShares},
		{"shared limit", testSharedLimit},
		{"figures", testFigures},
		{"findings once a sweep", testFindings},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			tc.test(t, &rig{t: t, Backend: newBackend(t)})
		})
	}
}

// rig is one test's queue.
type rig struct {
	t *testing.T
	Backend
}

// clock is a test's own.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock {
	return &clock{now: time.Date(2026, 8, 21, 2, 0, 0, 0, time.UTC)}
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// open opens a handle with the real clock.
func (r *rig) open() sweep.Queue { return r.Open(r.t, time.Now) }

const sweepID = "cleanup:2026-08-21T02:00Z"

// admit admits shards 0 to n-1.
func (r *rig) admit(q sweep.Queue, id string, n int, now time.Time) []sweep.Job {
	r.t.Helper()
	shards := make([]int, n)
	for i := range shards {
		shards[i] = i
	}
	jobs, err := sweep.Enqueue(r.t.Context(), q, sweep.Admission{Sweep: id, Shards: shards, Policy: "p1", Now: now})
	if err != nil {
		r.t.Fatal(err)
	}
	return jobs
}

// fast is a policy with times that a test can wait for.
func fast() sweep.Policy {
	return sweep.Policy{
		MaxAttempts: 3, MaxAge: time.Hour,
		RetryFirst: 300 * time.Millisecond, RetryMax: 600 * time.Millisecond, Wait: 300 * time.Millisecond,
	}
}

// options are those of a worker that drains the queue.
func (r *rig) options(name string) sweep.Options {
	return sweep.Options{
		Worker: name, Host: "host-of-" + name, PID: 1, Jobs: 4,
		Chunk: 10 * time.Second, Policy: fast(), Heartbeat: time.Second, StopWithin: 5 * time.Second,
		Runtime: 2 * time.Minute,
		Clock:   time.Now, Jitter: rand.Float64, Log: slog.New(slog.NewTextHandler(r.t.Output(), nil)),
	}
}

// drain works until nothing is left.
func (r *rig) drain(q sweep.Queue, o sweep.Options, x sweep.Executor) sweep.Report {
	r.t.Helper()
	report, err := sweep.NewWorker(q, x, o).Run(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	if report.CutShort && o.Runtime > 30*time.Second {
		r.t.Fatalf("nothing ended the worker: left %+v", report.Left)
	}
	return report
}

// background runs a worker until the returned function ends it.
func (r *rig) background(q sweep.Queue, o sweep.Options, x sweep.Executor) (stop func() sweep.Report) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.t.Context()))
	var (
		report sweep.Report
		err    error
		done   = make(chan struct{})
	)
	go func() {
		defer close(done)
		report, err = sweep.NewWorker(q, x, o).Run(ctx)
	}()
	end := sync.OnceFunc(func() { cancel(); <-done })
	r.t.Cleanup(end)
	return func() sweep.Report {
		r.t.Helper()
		end()
		if err != nil {
			r.t.Error(err)
		}
		return report
	}
}

// eventually waits for what a background worker does.
func (r *rig) eventually(what string, holds func() bool) {
	r.t.Helper()
	for deadline := time.Now().Add(90 * time.Second); !holds(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			r.t.Fatalf("waited in vain: %s", what)
		}
	}
}

func (r *rig) unfinished(q sweep.Queue, now time.Time) sweep.Unfinished {
	r.t.Helper()
	u, err := q.Unfinished(r.t.Context(), now)
	if err != nil {
		r.t.Fatal(err)
	}
	return u
}

// states lists the states of a sweep's jobs, by shard and generation.
func (r *rig) states(q sweep.Queue, id string, now time.Time) []sweep.JobState {
	r.t.Helper()
	jobs, err := q.Jobs(r.t.Context(), id, now)
	if err != nil {
		r.t.Fatal(err)
	}
	var states []sweep.JobState
	for _, j := range jobs {
		states = append(states, j.State)
	}
	return states
}

func (r *rig) wantStates(q sweep.Queue, id string, now time.Time, want ...sweep.JobState) {
	r.t.Helper()
	if got := r.states(q, id, now); !slices.Equal(got, want) {
		r.t.Errorf("%s: states %q, want %q", id, got, want)
	}
}

// run is one execution that a recorder saw.
type run struct {
	job        sweep.Job
	start, end time.Time
}

// recorder is an executor that keeps what it was asked to do.
type recorder struct {
	mu   sync.Mutex
	runs []run
	// outcome is asked for each execution; nil is Done.
	outcome func(ctx context.Context, c sweep.Chunk) sweep.Outcome
}

func (x *recorder) execute(ctx context.Context, c sweep.Chunk) sweep.Outcome {
	start := time.Now()
	out := sweep.Outcome{Result: sweep.Done}
	if x.outcome != nil {
		out = x.outcome(ctx, c)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.runs = append(x.runs, run{c.Job, start, time.Now()})
	return out
}

func (x *recorder) all() []run {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clone(x.runs)
}

// of lists the executions of a shard.
func (x *recorder) of(shard int) []run {
	return slices.DeleteFunc(x.all(), func(r run) bool { return r.job.Shard != shard })
}

func done(context.Context, sweep.Chunk) sweep.Outcome { return sweep.Outcome{Result: sweep.Done} }
