package queuetest

import (
	"context"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"weedlc/sweep"
)

// The sum of the shares is never above the limit, and every live worker gets
// its part within two rounds of heartbeats.
func testShares(t *testing.T, r *rig) {
	const limit = 90.0
	q := r.open()
	shares := map[string]float64{}
	every := time.Minute
	beat := func(worker string, want float64) {
		t.Helper()
		share, err := q.Beat(t.Context(), sweep.Beat{Worker: worker, Host: "h", PID: 7, Jobs: 2, Limit: limit, Every: every})
		if err != nil {
			t.Fatal(err)
		}
		shares[worker] = share
		sum := 0.0
		for _, s := range shares {
			sum += s
		}
		if share != want || sum > limit {
			t.Errorf("%s got %g, want %g; the sum is %g", worker, share, want, sum)
		}
	}
	beat("a", 90)
	beat("a", 90)
	beat("b", 0) // a has not shrunk yet
	beat("a", 45)
	beat("b", 45)
	beat("c", 0)
	beat("b", 30)
	beat("c", 15) // what a leaves
	beat("a", 30)
	beat("c", 30)
	if err := q.Leave(t.Context(), "b"); err != nil {
		t.Fatal(err)
	}
	delete(shares, "b")
	beat("a", 45)
	beat("c", 45)
	f, err := q.Figures(t.Context(), time.Now(), time.Hour)
	if err != nil || len(f.Workers) != 2 {
		t.Fatalf("workers %+v, %v", f.Workers, err)
	}
	if w := f.Workers[0]; w.Worker != "a" || w.Host != "h" || w.PID != 7 || w.Jobs != 2 || w.Limit != limit || w.Share != 45 || w.SeenAt.IsZero() {
		t.Errorf("worker %+v", w)
	}
	// A dead worker's share is free after three of its heartbeats, not before.
	every = 400 * time.Millisecond
	beat("c", 45)
	begin := time.Now()
	r.eventually("the silent worker's share is taken", func() bool {
		share, err := q.Beat(t.Context(), sweep.Beat{Worker: "a", Jobs: 1, Limit: limit, Every: time.Minute})
		return err == nil && share == limit
	})
	if took := time.Since(begin); took < 3*every {
		t.Errorf("taken after %s, its three heartbeats are %s", took, 3*every)
	}
}

// Three workers come and go; what they delete together stays under the limit.
func testSharedLimit(t *testing.T, r *rig) {
	const limit = 100.0
	var (
		mu  sync.Mutex
		at  []time.Time
		who = map[string]int{}
	)
	q := r.open()
	r.admit(q, sweepID, 12, time.Now())
	deleting := func(name string) sweep.Executor {
		return func(ctx context.Context, c sweep.Chunk) sweep.Outcome {
			for c.Limiter.Wait(ctx) == nil {
				mu.Lock()
				at = append(at, time.Now())
				who[name]++
				mu.Unlock()
			}
			return sweep.Outcome{Result: sweep.Cut}
		}
	}
	seen := func(name string) int {
		mu.Lock()
		defer mu.Unlock()
		return who[name]
	}
	var stops []func() sweep.Report
	for _, name := range []string{"a", "b", "c"} {
		o := r.options(name)
		o.Limit, o.Serve = limit, true
		stops = append(stops, r.background(r.open(), o, deleting(name)))
		before := seen(name)
		r.eventually(name+" deletes", func() bool { return seen(name) > before+20 })
	}
	stops[0]()
	before := seen("b")
	r.eventually("the others go on", func() bool { return seen("b") > before+60 })
	stops[1]()
	stops[2]()
	if len(who) != 3 {
		t.Errorf("deletes by %v", slices.Collect(maps.Keys(who)))
	}
	// In any second: the limit, one for each worker whose limiter is full, and one
	// heartbeat in which a limiter may not have heard yet.
	slices.SortFunc(at, time.Time.Compare)
	const slack = 5 + 0.2*limit
	for i, first := range at {
		n := 0
		for _, x := range at[i:] {
			if x.Sub(first) >= time.Second {
				break
			}
			n++
		}
		if float64(n) > limit+slack {
			t.Fatalf("%d deletes in one second, the limit is %g", n, limit)
		}
	}
}
