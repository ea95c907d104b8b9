package queuetest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"weedlc/sweep"
)

// failing always asks to be tried again.
func failing(context.Context, sweep.Chunk) sweep.Outcome {
	return sweep.Outcome{
		Result: sweep.Retryable, Category: sweep.CategoryRetryLater,
		Blocker: sweep.Blocker{Bucket: "logs", Key: "a/b\n", VersionID: "v1"},
	}
}

// bury makes a dead letter of shard 0 of a sweep and returns it.
func (r *rig) bury(q sweep.Queue, id string) sweep.DeadLetter {
	r.t.Helper()
	r.admit(q, id, 1, time.Now())
	report := r.drain(q, r.options("undertaker"), func(context.Context, sweep.Chunk) sweep.Outcome {
		return sweep.Outcome{Result: sweep.Terminal, Category: sweep.CategoryBlocked}
	})
	if len(report.Dead) != 1 {
		r.t.Fatalf("dead letters %+v", report.Dead)
	}
	return report.Dead[0]
}

// Invariant 4: exhausted jobs consume nothing until a person decides.
func testExhausted(t *testing.T, r *rig) {
	q := r.open()
	r.admit(q, sweepID, 2, time.Now())
	x := &recorder{outcome: failing}
	report := r.drain(q, r.options("w"), x.execute)
	if len(report.Dead) != 2 || len(x.all()) != 6 || report.Left.Total() != 0 {
		t.Fatalf("report %+v after %d executions", report, len(x.all()))
	}
	// Later workers find nothing, however long they look.
	x = &recorder{}
	o := r.options("later")
	o.Serve, o.Runtime = true, 7*time.Second // longer than River's leader takes to bring a job back
	if report := r.drain(r.open(), o, x.execute); len(x.all()) != 0 || report.Left.Total() != 0 {
		t.Errorf("a dead letter was executed: %+v, %+v", x.all(), report)
	}
	letter := report.Dead[slices.IndexFunc(report.Dead, func(l sweep.DeadLetter) bool { return l.Shard == 1 })]
	again, err := sweep.Redrive(t.Context(), q, letter.JobID, act("the hold is gone", time.Now()))
	if err != nil {
		t.Fatal(err)
	}
	r.drain(q, r.options("redriven"), x.execute)
	if runs := x.all(); len(runs) != 1 || runs[0].job.ID != again.ID {
		t.Errorf("after the redrive: %+v", runs)
	}
	r.wantStates(q, sweepID, time.Now(), sweep.JobDead, sweep.JobRedriven, sweep.JobDone)
}

func testAttemptBudget(t *testing.T, r *rig) {
	q := r.open()
	begin := time.Now()
	job := r.admit(q, sweepID, 1, begin)[0]
	report := r.drain(q, r.options("w"), failing)
	if len(report.Dead) != 1 || report.Steps[sweep.RetryAt] != 2 || report.Steps[sweep.Bury] != 1 {
		t.Fatalf("report %+v", report)
	}
	got := report.Dead[0]
	if got.LastSeen.Before(begin) || got.BuriedAt.Before(got.LastSeen) || got.FirstSeen.UnixMicro() != begin.UnixMicro() {
		t.Errorf("times of %+v", got)
	}
	want := sweep.DeadLetter{
		JobID: job.ID, Key: job.Key, Policy: "p1", Category: sweep.CategoryAttempts,
		Blocker:   sweep.Blocker{Bucket: "logs", Key: "a/b\n", VersionID: "v1"},
		FirstSeen: got.FirstSeen, LastSeen: got.LastSeen, BuriedAt: got.BuriedAt, Attempts: 3, State: sweep.JobDead,
	}
	if got != want {
		t.Errorf("dead letter\n%+v, want\n%+v", got, want)
	}
}

// The age budget counts from the admission, for jobs that wait or are never
// fetched too.
func testAgeBudget(t *testing.T, r *rig) {
	c := newClock()
	q := r.Open(t, c.Now)
	o := r.options("w")
	o.Clock = c.Now
	maxAge := o.Policy.MaxAge
	r.admit(q, "cleanup:waits", 1, c.Now())
	stopWaiting := r.background(q, o, func(context.Context, sweep.Chunk) sweep.Outcome {
		return sweep.Outcome{Result: sweep.Waiting, Category: sweep.CategoryNoFiler, RetryAfter: 24 * time.Hour}
	})
	r.eventually("the job waits", func() bool {
		u, err := q.Unfinished(t.Context(), c.Now())
		return err == nil && u == sweep.Unfinished{Waiting: 1}
	})
	stopWaiting()
	r.admit(q, "cleanup:unfetched", 1, c.Now())

	// At its age a job may still be executed, beyond it not.
	c.advance(maxAge)
	if ids, err := q.Expire(t.Context(), c.Now().Add(-maxAge), c.Now()); err != nil || len(ids) != 0 {
		t.Errorf("expired %v, %v at exactly the age", ids, err)
	}
	c.advance(time.Microsecond)
	x := &recorder{}
	report := r.drain(q, o, x.execute)
	if len(report.Dead) != 2 || len(x.all()) != 0 {
		t.Fatalf("report %+v, executed %+v", report, x.all())
	}
	for i, attempts := range []int{0, 0} {
		if l := report.Dead[i]; l.Category != sweep.CategoryAge || l.Attempts != attempts || !l.BuriedAt.Equal(c.Now()) {
			t.Errorf("dead letter %+v", l)
		}
	}
	if l := report.Dead[1]; l.Sweep != "cleanup:unfetched" || !l.LastSeen.Equal(l.BuriedAt) {
		t.Errorf("never fetched: %+v", l)
	}
	// Found by a lease, not by the search for old jobs.
	r.admit(q, "cleanup:leased", 1, c.Now().Add(-maxAge-time.Second))
	leasing, stop := context.WithCancel(t.Context())
	defer stop()
	job := sweep.Job{}
	err := q.Lease(leasing, sweep.LeaseOptions{
		Worker: "direct", Jobs: 1, Duration: 10 * time.Second, StopWithin: time.Second,
		Settled: func(sweep.Job, sweep.Decision, error) { stop() },
	}, func(_ context.Context, j sweep.Job) sweep.Decision {
		job = j
		d, _ := o.Policy.Exhausted(j, c.Now())
		return d
	})
	if l, lerr := q.DeadLetter(t.Context(), job.ID); err != nil || lerr != nil || l.Category != sweep.CategoryAge || l.Attempts != 0 {
		t.Errorf("dead letter %+v, %v, %v", l, err, lerr)
	}
}

func testTerminal(t *testing.T, r *rig) {
	q := r.open()
	r.admit(q, sweepID, 2, time.Now())
	report := r.drain(q, r.options("w"), func(_ context.Context, c sweep.Chunk) sweep.Outcome {
		if c.Job.Shard == 0 {
			return sweep.Outcome{Result: sweep.Terminal, Category: sweep.CategoryBlocked, Blocker: sweep.Blocker{Bucket: "b", Key: "k"}}
		}
		return sweep.Outcome{Result: sweep.Terminal, Category: sweep.CategoryInput}
	})
	if len(report.Dead) != 2 || report.Steps[sweep.Bury] != 2 {
		t.Fatalf("report %+v", report)
	}
	letters, err := q.DeadLetters(t.Context(), sweep.LetterFilter{})
	if err != nil || len(letters) != 2 {
		t.Fatalf("dead letters %+v, %v", letters, err)
	}
	slices.SortFunc(letters, func(a, b sweep.DeadLetter) int { return a.Shard - b.Shard })
	for i, c := range []sweep.Category{sweep.CategoryBlocked, sweep.CategoryInput} {
		if l := letters[i]; l.Category != c || l.Attempts != 1 {
			t.Errorf("dead letter %+v, want %s", l, c)
		}
	}
	one := 1
	for _, f := range []struct {
		filter sweep.LetterFilter
		want   int
	}{
		{sweep.LetterFilter{Sweep: sweepID}, 2},
		{sweep.LetterFilter{Sweep: "cleanup:other"}, 0},
		{sweep.LetterFilter{Shard: &one}, 1},
	} {
		if got, err := q.DeadLetters(t.Context(), f.filter); err != nil || len(got) != f.want {
			t.Errorf("%+v: %d letters, %v", f.filter, len(got), err)
		}
	}
}

func testDecisions(t *testing.T, r *rig) {
	q := r.open()
	letter := r.bury(q, sweepID)
	ctx, at := t.Context(), time.Date(2026, 8, 22, 9, 0, 0, 0, time.UTC)

	for what, err := range map[string]error{
		"redrive without a reason": second(sweep.Redrive(ctx, q, letter.JobID, act(" ", at))),
		"discard without a reason": sweep.Discard(ctx, q, letter.JobID, act("", at)),
		"a reason without end":     sweep.Discard(ctx, q, letter.JobID, act(strings.Repeat("x", 1001), at)),
		"by nobody":                sweep.Discard(ctx, q, letter.JobID, sweep.Act{Reason: "r", At: at}),
	} {
		if err == nil {
			t.Errorf("%s: accepted", what)
		}
	}
	for what, err := range map[string]error{
		"redrive of an unknown id": second(sweep.Redrive(ctx, q, letter.JobID+1000, act("r", at))),
		"discard of an unknown id": sweep.Discard(ctx, q, letter.JobID+1000, act("r", at)),
	} {
		if !errors.Is(err, sweep.ErrNotFound) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if l, err := q.DeadLetter(ctx, letter.JobID); err != nil || l != letter {
		t.Errorf("something was changed: %+v, %v", l, err)
	}

	job, err := sweep.Redrive(ctx, q, letter.JobID, act("hold lifted", at))
	want := sweep.Job{
		Key: sweep.Key{Sweep: sweepID, Shard: 0, Generation: 1}, ID: job.ID, Policy: "p1",
		RedriveOf: letter.JobID, AdmittedAt: at, AvailableAt: at, Attempt: 1,
	}
	if err != nil || job != want || job.ID <= letter.JobID {
		t.Errorf("redriven as %+v, %v; want %+v", job, err, want)
	}
	var closed *sweep.ClosedError
	if err := second(sweep.Redrive(ctx, q, letter.JobID, act("again", at))); !errors.As(err, &closed) ||
		closed.Letter.State != sweep.JobRedriven || closed.Letter.ClosedBy != job.ID || !closed.Letter.ClosedAt.Equal(at) {
		t.Errorf("redriven twice: %v", err)
	}
	if err := sweep.Discard(ctx, q, letter.JobID, act("r", at)); !errors.Is(err, sweep.ErrClosed) {
		t.Errorf("discarded after the redrive: %v", err)
	}
	if u := r.unfinished(q, time.Now()); u != (sweep.Unfinished{Ready: 1}) {
		t.Errorf("unfinished %+v", u)
	}
	// The new job dies too, and is redriven in its turn.
	report := r.drain(q, r.options("w"), func(context.Context, sweep.Chunk) sweep.Outcome {
		return sweep.Outcome{Result: sweep.Terminal, Category: sweep.CategoryInput}
	})
	if len(report.Dead) != 1 || report.Dead[0].RedriveOf != letter.JobID || report.Dead[0].Generation != 1 {
		t.Fatalf("dead letters %+v", report.Dead)
	}
	if err := sweep.Discard(ctx, q, report.Dead[0].JobID, act("bucket is gone", at.Add(time.Hour))); err != nil {
		t.Error(err)
	}
	if open, err := q.DeadLetters(ctx, sweep.LetterFilter{}); err != nil || len(open) != 0 {
		t.Errorf("open letters %+v, %v", open, err)
	}
	if all, err := q.DeadLetters(ctx, sweep.LetterFilter{Closed: true}); err != nil || len(all) != 2 {
		t.Errorf("all letters %+v, %v", all, err)
	}
	history, err := q.History(ctx, sweep.HistoryFilter{})
	if err != nil {
		t.Fatal(err)
	}
	var kinds []sweep.EventKind
	for _, e := range history {
		kinds = append(kinds, e.Kind)
	}
	if want := []sweep.EventKind{sweep.EventBuried, sweep.EventRedriven, sweep.EventBuried, sweep.EventDiscarded}; !slices.Equal(kinds, want) {
		t.Fatalf("history %q, want %q", kinds, want)
	}
	if want := (sweep.Event{
		At: at, Kind: sweep.EventRedriven, JobID: letter.JobID, Key: letter.Key, Other: job.ID,
		Reason: "hold lifted", User: "ann", Host: "ops1",
	}); history[1] != want {
		t.Errorf("event %+v, want %+v", history[1], want)
	}
	if e := history[0]; e.Category != sweep.CategoryBlocked || e.User != "" || e.Host == "" {
		t.Errorf("a worker's event %+v", e)
	}
	for _, f := range []struct {
		filter sweep.HistoryFilter
		want   int
	}{
		{sweep.HistoryFilter{JobID: letter.JobID}, 2},
		{sweep.HistoryFilter{JobID: job.ID}, 3},
		{sweep.HistoryFilter{Sweep: "cleanup:other"}, 0},
		{sweep.HistoryFilter{Since: time.Now().Add(time.Hour)}, 0},
	} {
		if got, err := q.History(ctx, f.filter); err != nil || len(got) != f.want {
			t.Errorf("%+v: %d events, %v", f.filter, len(got), err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func testDecisionsAtOnce(t *testing.T, r *rig) {
	q := r.open()
	letter := r.bury(q, sweepID)
	var (
		mu  sync.Mutex
		ok  int
		all sync.WaitGroup
	)
	for i := range 8 {
		other := q
		if i%2 == 1 {
			other = r.open()
		}
		all.Go(func() {
			var err error
			if i < 4 {
				_, err = sweep.Redrive(t.Context(), other, letter.JobID, act("r", time.Now()))
			} else {
				err = sweep.Discard(t.Context(), other, letter.JobID, act("r", time.Now()))
			}
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				ok++
			} else if !errors.Is(err, sweep.ErrClosed) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	history, err := q.History(t.Context(), sweep.HistoryFilter{})
	if err != nil || ok != 1 || len(history) != 2 {
		t.Errorf("%d decisions went through; history %+v, %v", ok, history, err)
	}
}

// The success of a later sweep closes a shard's dead letter; that of an
// earlier one, of another shard, and a failure do not.
func testSuperseded(t *testing.T, r *rig) {
	q := r.open()
	// Admitted first, worked last.
	r.admit(q, "cleanup:early", 1, time.Now())
	only := func(id string, result sweep.Result) sweep.Executor {
		return func(_ context.Context, c sweep.Chunk) sweep.Outcome {
			if c.Job.Sweep != id {
				return sweep.Outcome{Result: sweep.Waiting, Category: sweep.CategoryPaused}
			}
			return sweep.Outcome{Result: result, Category: sweep.CategoryBlocked}
		}
	}
	work := func(id string, result sweep.Result) {
		o := r.options("w")
		o.Serve = true
		stop := r.background(q, o, only(id, result))
		r.eventually(id+" is worked", func() bool {
			return !slices.ContainsFunc(r.states(q, id, time.Now()), func(s sweep.JobState) bool {
				return s != sweep.JobDone && s != sweep.JobDead
			})
		})
		stop()
	}
	r.admit(q, "cleanup:1", 2, time.Now())
	work("cleanup:1", sweep.Terminal)
	work("cleanup:early", sweep.Done)
	r.wantStates(q, "cleanup:1", time.Now(), sweep.JobDead, sweep.JobDead)
	r.admit(q, "cleanup:2", 1, time.Now())
	work("cleanup:2", sweep.Terminal)
	r.wantStates(q, "cleanup:1", time.Now(), sweep.JobDead, sweep.JobDead)
	success := r.admit(q, "cleanup:3", 1, time.Now())[0]
	work("cleanup:3", sweep.Done)
	r.wantStates(q, "cleanup:1", time.Now(), sweep.JobSuperseded, sweep.JobDead)
	r.wantStates(q, "cleanup:2", time.Now(), sweep.JobSuperseded)
	letters, err := q.DeadLetters(t.Context(), sweep.LetterFilter{Closed: true, Sweep: "cleanup:1"})
	slices.SortFunc(letters, func(a, b sweep.DeadLetter) int { return a.Shard - b.Shard })
	if err != nil || letters[0].ClosedBy != success.ID || letters[0].ClosedAt.IsZero() || letters[1].ClosedBy != 0 {
		t.Fatalf("letters %+v, %v", letters, err)
	}
	if err := sweep.Discard(t.Context(), q, letters[0].JobID, act("r", time.Now())); !errors.Is(err, sweep.ErrClosed) {
		t.Errorf("discarded what is superseded: %v", err)
	}
	events, err := q.History(t.Context(), sweep.HistoryFilter{JobID: success.ID})
	if err != nil || len(events) != 2 || events[0].Kind != sweep.EventSuperseded || events[0].Other != success.ID {
		t.Errorf("history %+v, %v", events, err)
	}
}
