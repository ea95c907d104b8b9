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

func testAdmit(t *testing.T, r *rig) {
	now := time.Date(2026, 8, 21, 2, 0, 0, 123456000, time.UTC)
	q := r.open()
	jobs := r.admit(q, sweepID, 3, now)
	for i, j := range jobs {
		want := sweep.Job{
			Key: sweep.Key{Sweep: sweepID, Shard: i}, ID: j.ID, Policy: "p1", AdmittedAt: now, AvailableAt: now, Attempt: 1,
		}
		if j != want || j.ID == 0 || i > 0 && j.ID <= jobs[i-1].ID {
			t.Errorf("job %+v, want %+v with an id that counts up", j, want)
		}
	}
	// A larger admission adds what is missing.
	added := r.admit(q, sweepID, 5, now.Add(time.Hour))
	if len(added) != 2 || added[0].Shard != 3 || added[1].Shard != 4 {
		t.Errorf("admitted again with two shards more: %+v", added)
	}
	if again := r.admit(r.open(), sweepID, 5, now.Add(time.Hour)); len(again) != 0 {
		t.Errorf("admitted a third time: %+v", again)
	}
	if other := r.admit(q, "cleanup:2026-08-22T02:00Z", 5, now); len(other) != 5 {
		t.Errorf("another sweep: %d jobs", len(other))
	}
	records, err := q.Jobs(t.Context(), sweepID, now)
	if err != nil || len(records) != 5 {
		t.Fatalf("%d jobs, %v", len(records), err)
	}
	if first := records[0]; first.Job != jobs[0] || first.State != sweep.JobReady || !first.LastSeen.IsZero() || !first.ClosedAt.IsZero() {
		t.Errorf("record %+v of %+v", first, jobs[0])
	}
	if _, err := q.Jobs(t.Context(), "cleanup:unknown", now); !errors.Is(err, sweep.ErrNotFound) {
		t.Errorf("an unknown sweep: %v", err)
	}
}

// Invariant 1: the same (sweep, shard) from any number of hosts at once is one
// logical job.
func testAdmitAtOnce(t *testing.T, r *rig) {
	const hosts, each, shards = 4, 4, 16
	var (
		mu   sync.Mutex
		made []int
		all  sync.WaitGroup
		now  = time.Now()
	)
	begin := make(chan struct{})
	for range hosts {
		q := r.open()
		for range each {
			all.Go(func() {
				<-begin
				list := make([]int, shards)
				for i := range list {
					list[i] = (i * 7) % shards // any order
				}
				jobs, err := sweep.Enqueue(t.Context(), q, sweep.Admission{Sweep: sweepID, Shards: list, Now: now})
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				for _, j := range jobs {
					made = append(made, j.Shard)
				}
			})
		}
	}
	close(begin)
	all.Wait()
	slices.Sort(made)
	if len(made) != shards || len(slices.Compact(slices.Clone(made))) != shards {
		t.Errorf("%d admissions made jobs of shards %v", hosts*each, made)
	}
	if u := r.unfinished(r.open(), now); u != (sweep.Unfinished{Ready: shards}) {
		t.Errorf("unfinished %+v", u)
	}
}

func testPruneKeepsKeys(t *testing.T, r *rig) {
	q := r.open()
	first := r.admit(q, sweepID, 4, time.Now())
	r.drain(q, r.options("w"), done)
	pruned, err := q.Prune(t.Context(), time.Now().Add(time.Hour))
	if err != nil || pruned.Jobs != 4 {
		t.Fatalf("pruned %+v, %v", pruned, err)
	}
	if again := r.admit(q, sweepID, 4, time.Now()); len(again) != 0 {
		t.Errorf("admitted again after pruning: %+v", again)
	}
	if u := r.unfinished(q, time.Now()); u.Total() != 0 {
		t.Errorf("unfinished %+v", u)
	}
	later := r.admit(q, "cleanup:2026-08-22T02:00Z", 1, time.Now())
	if later[0].ID <= first[3].ID {
		t.Errorf("id %d was given out again: the last one was %d", later[0].ID, first[3].ID)
	}
	r.wantStates(q, sweepID, time.Now(), sweep.JobDone, sweep.JobDone, sweep.JobDone, sweep.JobDone)
}

func testPrune(t *testing.T, r *rig) {
	c := newClock()
	q := r.Open(t, c.Now)
	o := r.options("w")
	o.Clock = c.Now
	terminal := func(_ context.Context, ch sweep.Chunk) sweep.Outcome {
		if ch.Job.Shard == 0 {
			return sweep.Outcome{Result: sweep.Done, Deletes: map[string]int64{"b": 1}}
		}
		return sweep.Outcome{Result: sweep.Terminal, Category: sweep.CategoryBlocked}
	}
	r.admit(q, sweepID, 3, c.Now())
	report := r.drain(q, o, terminal)
	if len(report.Dead) != 2 {
		t.Fatalf("dead letters %+v", report.Dead)
	}
	if err := sweep.Discard(t.Context(), q, report.Dead[0].JobID, act("gone", c.Now())); err != nil {
		t.Fatal(err)
	}
	// Just closed is not before its own time.
	if p, err := q.Prune(t.Context(), c.Now()); err != nil || p != (sweep.Pruned{}) {
		t.Errorf("pruned %+v, %v; nothing was older", p, err)
	}
	c.advance(time.Microsecond)
	p, err := q.Prune(t.Context(), c.Now())
	if want := (sweep.Pruned{Jobs: 2, DeadLetters: 1, Events: 2, Chunks: 3}); err != nil || p != want {
		t.Errorf("pruned %+v, %v; want %+v", p, err, want)
	}
	if open, err := q.DeadLetters(t.Context(), sweep.LetterFilter{Closed: true}); err != nil || len(open) != 1 || open[0].JobID != report.Dead[1].JobID {
		t.Errorf("dead letters left %+v, %v", open, err)
	}
	history, err := q.History(t.Context(), sweep.HistoryFilter{})
	if err != nil || len(history) != 1 || history[0].Kind != sweep.EventBuried {
		t.Errorf("history left %+v, %v", history, err)
	}
}

func act(reason string, at time.Time) sweep.Act {
	return sweep.Act{Reason: reason, User: "ann", Host: "ops1", At: at}
}
