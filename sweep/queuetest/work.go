package queuetest

import (
	"context"
	"errors"
	"maps"
	"sync"
	"testing"
	"time"

	"weedlc/sweep"
)

// The worked example of the cleanup document: 240 partitions admitted at once,
// 24 get a server's wish for a pause, the other 216 finish without waiting, the
// 24 come back at their time through the same limits.
func testWorkedExample(t *testing.T, r *rig) {
	const (
		partitions, retried = 240, 24
		pause               = 2 * time.Second
		limit               = 1000.0
	)
	q := r.open()
	r.admit(q, sweepID, partitions, time.Now())
	if u := r.unfinished(q, time.Now()); u.Ready != partitions {
		t.Fatalf("admitted at once: %+v", u)
	}
	var (
		mu      sync.Mutex
		refused = map[int]time.Time{} // when the answer was given
	)
	x := &recorder{outcome: func(ctx context.Context, c sweep.Chunk) sweep.Outcome {
		if err := c.Limiter.Wait(ctx); err != nil {
			t.Errorf("no token: %v", err)
		}
		if c.Job.Shard%10 == 3 && c.Job.Attempt == 1 {
			mu.Lock()
			defer mu.Unlock()
			refused[c.Job.Shard] = time.Now()
			return sweep.Outcome{Result: sweep.Retryable, Category: sweep.CategoryRetryLater, RetryAfter: pause}
		}
		return sweep.Outcome{Result: sweep.Done}
	}}
	o := r.options("w")
	o.Jobs, o.Limit = 16, limit
	report := r.drain(q, o, x.execute)
	want := map[sweep.Step]int{sweep.Acknowledge: partitions, sweep.RetryAt: retried, sweep.Bury: 0}
	if !maps.Equal(report.Steps, want) || report.Left.Total() != 0 {
		t.Errorf("report %+v, want steps %v", report, want)
	}
	var firstAgain time.Time
	for _, run := range x.all() {
		if run.job.Attempt == 1 {
			continue
		}
		again := run.start.Sub(refused[run.job.Shard])
		if again < pause {
			t.Errorf("shard %d came back after %s, before its time", run.job.Shard, again)
		}
		if firstAgain.IsZero() || run.start.Before(firstAgain) {
			firstAgain = run.start
		}
	}
	if len(refused) != retried || firstAgain.IsZero() {
		t.Errorf("%d partitions were refused", len(refused))
	}
	// The others do not queue up behind those that come back: at most one batch
	// of leases is taken together with them.
	behind := 0
	for _, run := range x.all() {
		if run.job.Attempt == 1 && run.start.After(firstAgain) {
			behind++
		}
	}
	if behind > o.Jobs {
		t.Errorf("%d partitions began after the first one that came back", behind)
	}
}

// Invariant 3: a retry never runs before its recorded time; the recorded times
// double, and the server's wish is kept when it is later.
func testRetryTime(t *testing.T, r *rig) {
	q := r.open()
	r.admit(q, sweepID, 3, time.Now())
	x := &recorder{outcome: func(_ context.Context, c sweep.Chunk) sweep.Outcome {
		out := sweep.Outcome{Result: sweep.Retryable, Category: sweep.CategoryTransport}
		switch {
		case c.Job.Attempt == 3:
			out = sweep.Outcome{Result: sweep.Done}
		case c.Job.Shard == 1:
			out.RetryAfter = 1100 * time.Millisecond
		case c.Job.Shard == 2 && c.Job.Attempt == 1:
			// Beyond what River keeps ready by itself: its leader brings it back.
			out.RetryAfter = 6 * time.Second
		}
		return out
	}}
	o := r.options("w")
	r.drain(q, o, x.execute)
	least := map[int][]time.Duration{
		0: {300 * time.Millisecond, 600 * time.Millisecond},
		1: {1100 * time.Millisecond, 1100 * time.Millisecond},
		2: {6 * time.Second, 600 * time.Millisecond},
	}
	for shard, delays := range least {
		runs := x.of(shard)
		if len(runs) != len(delays)+1 {
			t.Fatalf("shard %d: %d executions", shard, len(runs))
		}
		for i, least := range delays {
			recorded := runs[i+1].job.AvailableAt
			if delay := recorded.Sub(runs[i].end); delay < least-time.Millisecond || delay > least*5/4+time.Second {
				t.Errorf("shard %d, attempt %d: the recorded time is %s later, want %s and jitter", shard, i+1, delay, least)
			}
			if early := recorded.Sub(runs[i+1].start); early > 0 {
				t.Errorf("shard %d, attempt %d: executed %s before its time", shard, i+2, early)
			}
		}
	}
}

// The recorded time holds however the job comes back: after a crash, the queue
// may deliver it early.
func testDeliveredEarly(t *testing.T, r *rig) {
	q := r.open()
	job := r.admit(q, sweepID, 1, time.Now())[0]
	x := &recorder{outcome: func(_ context.Context, c sweep.Chunk) sweep.Outcome {
		if c.Job.Attempt == 1 {
			return sweep.Outcome{Result: sweep.Retryable, Category: sweep.CategoryRetryLater, RetryAfter: 2 * time.Second}
		}
		return sweep.Outcome{Result: sweep.Done}
	}}
	o := r.options("w")
	o.Serve = true
	stop := r.background(q, o, x.execute)
	r.eventually("the retry is recorded", func() bool {
		u, err := q.Unfinished(t.Context(), time.Now())
		return err == nil && u.Retrying == 1
	})
	r.LoseLease(t, job.ID)
	r.eventually("the retry is executed", func() bool { return len(x.all()) == 2 })
	stop()
	again := x.all()[1]
	if early := again.job.AvailableAt.Sub(again.start); early > 0 || again.job.Attempt != 2 {
		t.Errorf("executed %s before its time: %+v", early, again.job)
	}
}

// Invariant 2: a lease that ends just before the acknowledgement means that the
// work is repeated, and its effect is there once.
func testLeaseLost(t *testing.T, r *rig) {
	q, other := r.open(), r.open()
	job := r.admit(q, sweepID, 1, time.Now())[0]
	var (
		mu      sync.Mutex
		effects = map[int64]int{}
	)
	effect := func(j sweep.Job) {
		mu.Lock()
		defer mu.Unlock()
		effects[j.ID] = 1 // as a delete is: the second one finds nothing
	}
	inside, goOn, settled := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	leasing, stop := context.WithCancel(t.Context())
	late := make(chan error, 1)
	go func() {
		o := sweep.LeaseOptions{
			Worker: "late", Jobs: 1, Duration: 30 * time.Second, StopWithin: 5 * time.Second,
			Settled: func(_ sweep.Job, _ sweep.Decision, err error) { settled <- err },
		}
		late <- q.Lease(leasing, o, func(_ context.Context, j sweep.Job) sweep.Decision {
			effect(j)
			close(inside)
			<-goOn
			return sweep.Decision{Step: sweep.Acknowledge, Executed: true}
		})
	}()
	<-inside
	r.LoseLease(t, job.ID)
	begun, finish := make(chan struct{}), make(chan struct{})
	again := &recorder{outcome: func(_ context.Context, c sweep.Chunk) sweep.Outcome {
		effect(c.Job)
		close(begun)
		<-finish
		return sweep.Outcome{Result: sweep.Done}
	}}
	second := make(chan sweep.Report)
	go func() {
		report, err := sweep.NewWorker(other, again.execute, r.options("second")).Run(t.Context())
		if err != nil {
			t.Error(err)
		}
		second <- report
	}()
	<-begun
	close(goOn)
	if err := <-settled; !errors.Is(err, sweep.ErrLeaseLost) {
		t.Errorf("the late acknowledgement: %v", err)
	}
	// Whatever the late worker still does, the other one keeps the job.
	for watched := time.Now(); time.Since(watched) < time.Second && !t.Failed(); time.Sleep(20 * time.Millisecond) {
		r.wantStates(q, sweepID, time.Now(), sweep.JobRunning)
	}
	close(finish)
	if report := <-second; report.Steps[sweep.Acknowledge] != 1 || report.Lost != 0 || report.Left.Total() != 0 {
		t.Errorf("the second worker: %+v", report)
	}
	stop()
	if err := <-late; err != nil {
		t.Error(err)
	}
	if runs := again.all(); len(runs) != 1 || runs[0].job.Attempt != 2 || len(effects) != 1 {
		t.Errorf("the repetition: %+v, effects %v", runs, effects)
	}
	r.wantStates(q, sweepID, time.Now(), sweep.JobDone)
}

// A lease that nobody settles is an attempt, so a job that kills its worker
// ends as a dead letter too.
func testLostAttempts(t *testing.T, r *rig) {
	q := r.open()
	job := r.admit(q, sweepID, 1, time.Now())[0]
	inside, release := make(chan struct{}), make(chan struct{})
	hang := func(context.Context, sweep.Chunk) sweep.Outcome {
		inside <- struct{}{}
		<-release
		return sweep.Outcome{Result: sweep.Done}
	}
	var stops []func() sweep.Report
	for _, name := range []string{"first", "second"} {
		o := r.options(name)
		o.Jobs = 1
		stops = append(stops, r.background(r.open(), o, hang))
		<-inside
		r.LoseLease(t, job.ID)
	}
	o := r.options("third")
	o.Policy.MaxAttempts = 2
	report := r.drain(q, o, done)
	if len(report.Dead) != 1 || report.Dead[0].Category != sweep.CategoryAttempts || report.Dead[0].Attempts != 2 ||
		report.Steps[sweep.Acknowledge] != 0 {
		t.Errorf("report %+v", report)
	}
	close(release)
	for _, stop := range stops {
		if late := stop(); late.Lost != 1 || late.Steps[sweep.Acknowledge] != 0 {
			t.Errorf("a dead worker that lives: %+v", late)
		}
	}
	f, err := q.Figures(t.Context(), time.Now(), time.Hour)
	if err != nil || f.Retries[sweep.CategoryLost] != 2 {
		t.Errorf("retries %v, %v", f.Retries, err)
	}
}

func testCut(t *testing.T, r *rig) {
	q := r.open()
	r.admit(q, sweepID, 1, time.Now())
	n := 0
	x := &recorder{}
	x.outcome = func(context.Context, sweep.Chunk) sweep.Outcome {
		if n++; n < 6 {
			return sweep.Outcome{Result: sweep.Cut, Deletes: map[string]int64{"b": 2}}
		}
		return sweep.Outcome{Result: sweep.Done}
	}
	begin := time.Now()
	report := r.drain(q, r.options("w"), x.execute)
	if report.Steps[sweep.Again] != 5 || report.Deletes["b"] != 10 {
		t.Errorf("report %+v", report)
	}
	for _, run := range x.all() {
		if run.job.Attempt != 1 {
			t.Errorf("a cut chunk was counted: %+v", run.job)
		}
	}
	if took := time.Since(begin); took > 15*time.Second {
		t.Errorf("six chunks took %s: they are ready at once", took)
	}
}

func testWaiting(t *testing.T, r *rig) {
	q := r.open()
	r.admit(q, sweepID, 2, time.Now())
	x := &recorder{}
	x.outcome = func(_ context.Context, c sweep.Chunk) sweep.Outcome {
		if c.Job.Shard == 1 || len(x.of(0)) == 4 {
			return sweep.Outcome{Result: sweep.Done}
		}
		return sweep.Outcome{Result: sweep.Waiting, Category: sweep.CategoryPaused}
	}
	report := r.drain(q, r.options("w"), x.execute)
	if report.Steps[sweep.WaitUntil] != 4 || report.Steps[sweep.Acknowledge] != 2 {
		t.Errorf("report %+v", report)
	}
	runs := x.of(0)
	for i, run := range runs {
		if run.job.Attempt != 1 {
			t.Errorf("a wait was counted: %+v", run.job)
		}
		if i > 0 && run.start.Before(runs[i-1].end.Add(fast().Wait)) {
			t.Errorf("looked at again after %s", run.start.Sub(runs[i-1].end))
		}
	}
	f, err := q.Figures(t.Context(), time.Now(), time.Hour)
	if err != nil || f.Waits[sweep.CategoryPaused] != 4 || len(f.Retries) != 0 {
		t.Errorf("figures %+v, %v", f, err)
	}
}
