package sweep

import (
	"slices"
	"testing"
	"time"
)

func TestSummarize(t *testing.T) {
	now := admitted
	f := Figures{
		Now: now, Window: 2 * time.Hour,
		OldestReady: now.Add(-time.Minute), OldestDead: now.Add(time.Second), // a clock that is ahead
		Completed: 10, Buried: 3, Closed: 5,
		Retries: map[Category]int{CategoryTransport: 4},
		Deletes: map[string]int64{"b": 25, "a": 25, "c": 50},
		Sweeps: []SweepRecord{
			{Sweep: "late", AdmittedAt: now.Add(-time.Hour - 1), Unfinished: 1},
			{Sweep: "in time", AdmittedAt: now.Add(-time.Hour), Unfinished: 1},
			{Sweep: "dead", AdmittedAt: now.Add(-48 * time.Hour), Dead: 1},
		},
	}
	s := Summarize(f)
	if s.OldestReadyAge != time.Minute || s.OldestDeadAge != 0 || s.OldestUnfinishedAge != 0 {
		t.Errorf("ages %s, %s, %s", s.OldestReadyAge, s.OldestDeadAge, s.OldestUnfinishedAge)
	}
	if s.CompletedPerHour != 5 || s.RetriesPerHour[CategoryTransport] != 2 || s.DeadGrowth != -2 {
		t.Errorf("status %+v", s)
	}
	if want := []BucketShare{{"c", 50, 0.5}, {"a", 25, 0.25}, {"b", 25, 0.25}}; !slices.Equal(s.Buckets, want) {
		t.Errorf("buckets %+v, want %+v", s.Buckets, want)
	}
	if late := s.Late(time.Hour); len(late) != 1 || late[0].Sweep != "late" {
		t.Errorf("late %+v", late)
	}
}

func TestDrain(t *testing.T) {
	jobs := func(ready int) map[JobState]int { return map[JobState]int{JobReady: ready, JobDone: 99, JobDead: 99} }
	two := []WorkerRecord{{Jobs: 2, Limit: 10}, {Jobs: 2, Limit: 10}}
	for _, c := range []struct {
		name string
		f    Figures
		want DrainState
		in   time.Duration
	}{
		{"idle", Figures{Jobs: jobs(0), Workers: two}, DrainIdle, 0},
		{"nothing done yet", Figures{Jobs: jobs(4), Workers: two}, DrainUnknown, 0},
		{"no worker", Figures{Jobs: jobs(4), Completed: 10, WorkerTime: 100 * time.Second}, DrainUnknown, 0},
		// 4 places over 10 s a job is 0.4 jobs a second.
		{"drains", Figures{Jobs: jobs(40), Completed: 10, WorkerTime: 100 * time.Second, Workers: two}, DrainFinite, 100 * time.Second},
		{"drains beside what comes", Figures{Jobs: jobs(40), Completed: 10, Admitted: 20, WorkerTime: 100 * time.Second, Workers: two}, DrainFinite, 200 * time.Second},
		{"over capacity", Figures{Jobs: jobs(1), Completed: 10, Admitted: 40, WorkerTime: 100 * time.Second, Workers: two}, DrainNever, 0},
		// 10 deletes a second over 100 deletes a job is 0.1 jobs a second.
		{"the limit is the ceiling", Figures{Jobs: jobs(10), Completed: 10, WorkerTime: 100 * time.Second, Workers: two,
			Deletes: map[string]int64{"a": 1000}}, DrainFinite, 100 * time.Second},
		{"over the limit", Figures{Jobs: jobs(10), Completed: 10, Admitted: 11, WorkerTime: 100 * time.Second, Workers: two,
			Deletes: map[string]int64{"a": 1000}}, DrainNever, 0},
	} {
		c.f.Window = 100 * time.Second
		got := Summarize(c.f).Drain
		if got.State != c.want || (got.In-c.in).Abs() > time.Millisecond {
			t.Errorf("%s: %+v, want %s in %s", c.name, got, c.want, c.in)
		}
	}
}
