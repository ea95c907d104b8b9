package queuetest

import (
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	"weedlc/sweep"
)

func testFigures(t *testing.T, r *rig) {
	c := newClock()
	q := r.Open(t, c.Now)
	admitted := c.Now()
	// A shard of its own: with a clock that stands, a wait for a shard has no end.
	if _, err := sweep.Enqueue(t.Context(), q, sweep.Admission{
		Sweep: "cleanup:old", Shards: []int{15}, Now: admitted.Add(-2 * time.Hour),
	}); err != nil {
		t.Fatal(err)
	}
	r.admit(q, sweepID, 6, admitted)
	o := r.options("w")
	o.Clock, o.Serve = c.Now, true
	o.Policy.MaxAge = 24 * time.Hour
	o.Policy.RetryFirst, o.Policy.RetryMax, o.Policy.Wait = time.Minute, time.Hour, time.Minute
	c.advance(10 * time.Minute)
	stop := r.background(q, o, func(_ context.Context, ch sweep.Chunk) sweep.Outcome {
		time.Sleep(10 * time.Millisecond)
		deletes := map[string]int64{"big": 30, "small": 10}
		switch {
		case ch.Job.Sweep == "cleanup:old" || ch.Job.Shard == 0:
			return sweep.Outcome{Result: sweep.Terminal, Category: sweep.CategoryBlocked}
		case ch.Job.Shard == 1:
			return sweep.Outcome{Result: sweep.Retryable, Category: sweep.CategoryTransport}
		case ch.Job.Shard == 2:
			return sweep.Outcome{Result: sweep.Waiting, Category: sweep.CategoryPaused}
		}
		return sweep.Outcome{Result: sweep.Done, Deletes: deletes}
	})
	r.eventually("each job was executed once", func() bool {
		u, err := q.Unfinished(t.Context(), c.Now())
		return err == nil && u == sweep.Unfinished{Waiting: 1, Retrying: 1}
	})
	stop()
	r.admit(q, "cleanup:new", 2, c.Now())
	worked := c.Now()
	c.advance(30 * time.Minute)

	f, err := q.Figures(t.Context(), c.Now(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if want := map[sweep.JobState]int{sweep.JobReady: 4, sweep.JobDone: 3, sweep.JobDead: 2}; !maps.Equal(f.Jobs, want) {
		t.Errorf("jobs %v, want %v", f.Jobs, want)
	}
	if !f.OldestReady.Equal(worked) || !f.OldestUnfinished.Equal(admitted) || !f.OldestDead.Equal(worked) {
		t.Errorf("oldest ready %s, unfinished %s, dead %s", f.OldestReady, f.OldestUnfinished, f.OldestDead)
	}
	if f.Admitted != 8 || f.Completed != 3 || f.Buried != 2 || f.Closed != 0 || f.Chunks != 7 {
		t.Errorf("figures %+v", f)
	}
	if f.WorkerTime < 70*time.Millisecond || f.WorkerTime > 10*time.Second {
		t.Errorf("worker time %s", f.WorkerTime)
	}
	if !maps.Equal(f.Retries, map[sweep.Category]int{sweep.CategoryTransport: 1}) ||
		!maps.Equal(f.Waits, map[sweep.Category]int{sweep.CategoryPaused: 1}) ||
		!maps.Equal(f.Deletes, map[string]int64{"big": 90, "small": 30}) {
		t.Errorf("retries %v, waits %v, deletes %v", f.Retries, f.Waits, f.Deletes)
	}
	want := []sweep.SweepRecord{
		{Sweep: "cleanup:old", AdmittedAt: admitted.Add(-2 * time.Hour), Dead: 1},
		{Sweep: sweepID, AdmittedAt: admitted, Unfinished: 2, Done: 3, Dead: 1},
		{Sweep: "cleanup:new", AdmittedAt: worked, Unfinished: 2},
	}
	if !slices.EqualFunc(f.Sweeps, want, func(a, b sweep.SweepRecord) bool {
		return a.Sweep == b.Sweep && a.AdmittedAt.Equal(b.AdmittedAt) && a.Unfinished == b.Unfinished && a.Done == b.Done && a.Dead == b.Dead
	}) {
		t.Errorf("sweeps %+v, want %+v", f.Sweeps, want)
	}
	// A window that begins after the work.
	f, err = q.Figures(t.Context(), c.Now(), 30*time.Minute)
	if err != nil || f.Completed != 0 || f.Admitted != 0 || len(f.Deletes) != 0 || f.Jobs[sweep.JobDone] != 3 {
		t.Errorf("figures of the last half hour %+v, %v", f, err)
	}
}

// One bucket's unreadable rules are found by sixteen shards and told once.
func testFindings(t *testing.T, r *rig) {
	q := r.open()
	r.admit(q, sweepID, 4, time.Now())
	r.drain(q, r.options("w"), func(_ context.Context, c sweep.Chunk) sweep.Outcome {
		out := sweep.Outcome{Result: sweep.Done, Findings: []sweep.Finding{{Bucket: "b", Kind: "rules"}}}
		if c.Job.Shard == 2 {
			out.Findings = append(out.Findings, sweep.Finding{Bucket: "b", RuleID: "r1", Kind: "rules"})
		}
		return out
	})
	f, err := q.Figures(t.Context(), time.Now(), time.Hour)
	want := []sweep.Finding{{Bucket: "b", Kind: "rules"}, {Bucket: "b", RuleID: "r1", Kind: "rules"}}
	if err != nil || len(f.Sweeps) != 1 || !slices.Equal(f.Sweeps[0].Findings, want) {
		t.Errorf("findings of %+v, %v; want %+v", f.Sweeps, err, want)
	}
}
