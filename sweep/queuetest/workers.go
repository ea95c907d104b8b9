package queuetest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"weedlc/sweep"
)

func testOneAtAShard(t *testing.T, r *rig) {
	const shards, sweeps = 6, 3
	q := r.open()
	ids := []string{"cleanup:1", "cleanup:2", "cleanup:3"}
	for _, id := range ids[:sweeps] {
		r.admit(q, id, shards, time.Now())
	}
	var (
		mu   sync.Mutex
		busy = map[int]int64{}
		most int
	)
	x := &recorder{outcome: func(_ context.Context, c sweep.Chunk) sweep.Outcome {
		mu.Lock()
		if other := busy[c.Job.Shard]; other != 0 {
			t.Errorf("shard %d is worked for job %d and job %d", c.Job.Shard, other, c.Job.ID)
		}
		busy[c.Job.Shard] = c.Job.ID
		most = max(most, len(busy))
		mu.Unlock()
		time.Sleep(50 * time.Millisecond)
		mu.Lock()
		delete(busy, c.Job.Shard)
		mu.Unlock()
		return sweep.Outcome{Result: sweep.Done}
	}}
	var workers sync.WaitGroup
	for _, name := range []string{"a", "b", "c"} {
		other := r.open()
		workers.Go(func() {
			if _, err := sweep.NewWorker(other, x.execute, r.options(name)).Run(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	workers.Wait()
	for _, id := range ids {
		r.wantStates(q, id, time.Now(), slices.Repeat([]sweep.JobState{sweep.JobDone}, shards)...)
	}
	f, err := q.Figures(t.Context(), time.Now(), time.Hour)
	if err != nil || f.Completed != shards*sweeps || len(x.all()) != shards*sweeps {
		t.Errorf("%d executions, figures %+v, %v", len(x.all()), f, err)
	}
	if most < 2 || f.LeaseWaits == 0 {
		t.Errorf("%d shards at a time, %d lease waits: nothing was tested", most, f.LeaseWaits)
	}
}

// A shard that fails again and again, and one that waits, take no place from
// the others, even with one place.
func testStuckShard(t *testing.T, r *rig) {
	q := r.open()
	r.admit(q, sweepID, 16, time.Now())
	x := &recorder{outcome: func(_ context.Context, c sweep.Chunk) sweep.Outcome {
		switch c.Job.Shard {
		case 0:
			return sweep.Outcome{Result: sweep.Retryable, Category: sweep.CategoryRetryLater, RetryAfter: time.Minute}
		case 1:
			return sweep.Outcome{Result: sweep.Waiting, Category: sweep.CategoryLocked, RetryAfter: time.Minute}
		}
		return sweep.Outcome{Result: sweep.Done}
	}}
	o := r.options("w")
	o.Jobs, o.Serve = 1, true
	stop := r.background(q, o, x.execute)
	r.eventually("fourteen shards are done", func() bool {
		u, err := q.Unfinished(t.Context(), time.Now())
		return err == nil && u == sweep.Unfinished{Waiting: 1, Retrying: 1}
	})
	if report := stop(); report.Left.Total() != 2 || !report.Interrupted {
		t.Errorf("report %+v", report)
	}
}

// Stopping leases nothing more; work in flight is handed back at once, or
// finishes within the bound.
func testStop(t *testing.T, r *rig) {
	q := r.open()
	r.admit(q, sweepID, 4, time.Now())
	inside := make(chan int, 8)
	x := &recorder{outcome: func(ctx context.Context, c sweep.Chunk) sweep.Outcome {
		inside <- c.Job.Shard
		<-ctx.Done()
		if c.Job.Shard == 0 {
			return sweep.Outcome{Result: sweep.Done}
		}
		// What a cancelled call looks like to an executor.
		return sweep.Outcome{Result: sweep.Retryable, Category: sweep.CategoryTransport}
	}}
	o := r.options("w")
	o.Jobs = 2
	stop := r.background(q, o, x.execute)
	<-inside
	<-inside
	begin := time.Now()
	report := stop()
	if took := time.Since(begin); took > o.StopWithin {
		t.Errorf("stopping took %s", took)
	}
	if !report.Interrupted || len(inside) != 0 || report.Steps[sweep.RetryAt] != 0 ||
		report.Steps[sweep.Again]+report.Steps[sweep.Acknowledge] != 2 {
		t.Errorf("report %+v, %d leased while stopping", report, len(inside))
	}
	if u := r.unfinished(q, time.Now()); u != (sweep.Unfinished{Ready: report.Left.Total()}) {
		t.Errorf("unfinished %+v", u)
	}
	next := &recorder{}
	r.drain(r.open(), r.options("next"), next.execute)
	for _, run := range next.all() {
		if run.job.Attempt != 1 {
			t.Errorf("handing back was counted: %+v", run.job)
		}
	}
}

func testRuntime(t *testing.T, r *rig) {
	q := r.open()
	r.admit(q, sweepID, 1, time.Now())
	o := r.options("w")
	o.Runtime = time.Second
	report := r.drain(q, o, func(ctx context.Context, _ sweep.Chunk) sweep.Outcome {
		<-ctx.Done()
		return sweep.Outcome{Result: sweep.Cut}
	})
	if !report.CutShort || report.Interrupted || report.Left != (sweep.Unfinished{Ready: 1}) {
		t.Errorf("report %+v", report)
	}
	if _, err := q.DeadLetter(t.Context(), 1); !errors.Is(err, sweep.ErrNotFound) {
		t.Errorf("a job that is no dead letter: %v", err)
	}
}
