package e2e_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"weedlc/engine"
	"weedlc/internal/weedtest"
)

// A worker that is killed at any point, twice: the others end every job, nothing
// is deleted early or twice, no cursor is lost. What ends the killed worker's
// leases are timers of River of 15 and 30 s.
func TestSweepWorkerIsKilled(t *testing.T) {
	t.Parallel()
	kinds := queueKinds(t)
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		t.Run(kind, func(t *testing.T) {
			queue := kinds[kind](t)
			t.Parallel()
			server := weedtest.New(t, weedtest.Config{})
			s := newSweeper(rigOn(t, server.Client(t)), queue)
			s.killWorkers(2)
		})
	}
}

func (s *sweeper) killWorkers(kills int) {
	const plain, versioned, n = "killed-plain", "killed-versioned", 150
	s.seed(plain, n)
	s.CreateBucket(versioned, weedtest.Versioned, document(rule("the rule", prefix(""), expire(1))))
	want := map[version]bool{}
	for i := range n {
		key := fmt.Sprintf("v%04d", i)
		want[version{key, s.Put(versioned, key, weedtest.Object{Age: 2 * day}), false, false}] = true
	}
	young := version{"young", s.Put(versioned, "young", weedtest.Object{}), true, false}
	want[young] = true
	// A delete takes a while, so that a worker is killed in the middle of many.
	s.proxy.Add(weedtest.Rule{Delay: 20 * time.Millisecond})
	s.weedlc(0, "sweep", "enqueue", "--sweep", "one")

	work := []string{"sweep", "work", "--chunk", "2s", "--concurrency", "8"}
	for range kills {
		s.proxy.Forget()
		worker := s.process(work...)
		s.must(worker.Start())
		at := 1 + rand.IntN(80)
		err := s.proxy.Await(s.t.Context(), weedtest.LifecycleDelete, at)
		s.must(worker.Process.Kill())
		_ = worker.Wait() // it was killed
		s.must(err)
		s.t.Logf("killed after %d calls", at)
	}
	s.weedlc(0, work...)
	s.wantJobs(map[string]int{"done": 16})
	s.wantKeys(plain, "young")

	// One marker a key: a version that was hidden twice would have two.
	markers := map[string]int{}
	for _, v := range s.versions(versioned) {
		if v.marker {
			markers[v.key]++
		} else if !want[v] {
			s.t.Errorf("there is a version %+v", v)
		}
		delete(want, v)
	}
	if len(want) > 0 {
		s.t.Errorf("versions are missing: %v", want)
	}
	for key, count := range markers {
		if count != 1 || key == young.key {
			s.t.Errorf("key %q has %d delete markers", key, count)
		}
	}
	if len(markers) != n {
		s.t.Errorf("%d keys have a delete marker, want %d", len(markers), n)
	}
	cursors := s.cursors()
	for _, shard := range allShards {
		if cursors[shard].RuleSetHash == (engine.Hash{}) {
			s.t.Errorf("the cursor of shard %d is %+v", shard, cursors[shard])
		}
	}
	s.proxy.Clear()
	s.proxy.Forget()
	s.weedlc(0, "run")
	s.wantSent()
}
